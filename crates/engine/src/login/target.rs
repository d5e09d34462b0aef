//! Turns login parameters into a connection target.

use crate::{
    Address, Charset, ConnectTarget, DEFAULT_DATABASE, Engine, EngineError, Login, PasswordKey, Tls, TlsIdentity,
    TlsMode,
};
use std::path::{Path, PathBuf};

/// The connection target of a login, completed from the user's own files for `engine`.
///
/// # Errors
/// A file is unreadable, accessible to other users, or requested but missing; no server address is known.
pub fn target_of(login: Login, engine: &dyn Engine) -> Result<ConnectTarget, EngineError> {
    let found = engine.login_files(&login)?;
    let requested_port = login.port;
    let all = login.or(found);
    // A given authority implies verification, as in MySQL's client.
    let mode = all.tls.unwrap_or(if all.tls_ca.is_some() { TlsMode::VerifyCa } else { TlsMode::Off });
    // One file may hold both.
    let identity = match (all.tls_cert, all.tls_key) {
        (None, None) => None,
        (Some(both), None) | (None, Some(both)) => Some(TlsIdentity { certificate: both.clone(), key: both }),
        (Some(certificate), Some(key)) => Some(TlsIdentity { certificate, key }),
    };
    // A file takes precedence, as in MySQL's client.
    let password_key = match (all.server_public_key, all.get_server_public_key) {
        (Some(path), _) => PasswordKey::File(path),
        (None, Some(true)) => PasswordKey::OfServer,
        (None, _) => PasswordKey::None,
    };
    let address = match (all.socket, all.host) {
        (Some(path), _) => Address::Socket(engine.socket_at(path, all.port)),
        // As in libpq: a host that begins with a slash is the folder of a socket.
        (None, Some(folder)) if folder.starts_with('/') => Address::Socket(engine.socket_at(folder.into(), all.port)),
        (None, Some(host)) => Address::Tcp(host, all.port.unwrap_or_else(|| engine.default_port())),
        (None, None) => usual_address(engine, requested_port, all.port)?,
    };
    Ok(ConnectTarget {
        address,
        user: all.user.unwrap_or_else(|| engine.default_user().to_owned()),
        password: all.password.unwrap_or_default(),
        database: Some(all.database.unwrap_or_else(|| DEFAULT_DATABASE.to_owned())),
        tls: Tls { mode, ca: all.tls_ca, identity, password_key },
        charset: Charset::default(),
    })
}

/// Where a client connects without an address: the first usual socket that exists. A requested port means TCP, unless
/// it is part of a socket's name.
fn usual_address(engine: &dyn Engine, requested: Option<u16>, port: Option<u16>) -> Result<Address, EngineError> {
    let searched = engine.usual_sockets(port);
    match (requested, searched.iter().find(|path| path.exists())) {
        (Some(port), _) if engine.usual_sockets(None) == searched => Ok(Address::Tcp("127.0.0.1".to_owned(), port)),
        (_, Some(path)) => Ok(Address::Socket(path.clone())),
        (_, None) => {
            let (engine, sources) = (engine.name(), engine.address_sources());
            Err(EngineError::NoAddress { engine, sources, searched })
        }
    }
}

/// Where packages of MariaDB and MySQL put the socket: Debian, Red Hat and SUSE, MySQL's own archives.
pub(crate) fn sockets_of_mysql() -> Vec<PathBuf> {
    ["/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/run/mysql/mysql.sock", "/tmp/mysql.sock"]
        .map(PathBuf::from)
        .to_vec()
}

/// A socket of PostgreSQL is named after its port.
pub(crate) fn socket_of_postgres(folder: &Path, port: Option<u16>) -> PathBuf {
    folder.join(format!(".s.PGSQL.{}", port.unwrap_or(5432)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mariadb, Postgresql, Sqlite};

    fn address(engine: &dyn Engine, login: Login) -> Result<String, EngineError> {
        // Nothing from the environment of the user who runs the tests.
        let user = Some("me".to_owned());
        target_of(Login { user, password: Some(String::new()), ..login }, engine).map(|t| t.address.to_string())
    }

    #[test]
    fn a_folder_is_that_of_postgresqls_sockets_and_a_socket_is_itself() {
        let folder = tempfile::tempdir().unwrap();
        let in_folder = |name: &str| folder.path().join(name).display().to_string();
        let folder_name = folder.path().display().to_string();
        let login = |port| Login { socket: Some(folder.path().to_owned()), port, ..Login::default() };
        assert_eq!(address(&Postgresql, login(None)).unwrap(), in_folder(".s.PGSQL.5432"));
        assert_eq!(address(&Postgresql, login(Some(5433))).unwrap(), in_folder(".s.PGSQL.5433"));
        let by_host = Login { host: Some(folder_name.clone()), port: Some(5434), ..Login::default() };
        assert_eq!(address(&Postgresql, by_host).unwrap(), in_folder(".s.PGSQL.5434"));
        assert_eq!(address(&Mariadb, login(Some(3307))).unwrap(), folder_name);
        let file = Login { socket: Some(folder.path().join("s")), port: Some(1), ..Login::default() };
        assert_eq!(address(&Postgresql, file).unwrap(), in_folder("s"));
    }

    #[test]
    fn a_port_alone_is_one_of_tcp_and_of_postgresql_the_name_of_a_socket() {
        let login = |port| Login { port: Some(port), ..Login::default() };
        assert_eq!(address(&Mariadb, login(3399)).unwrap(), "127.0.0.1:3399");
        let error = address(&Postgresql, login(5999)).unwrap_err().to_string();
        assert!(error.contains("/var/run/postgresql/.s.PGSQL.5999"), "{error}");
        let error = address(&Sqlite, Login::default()).unwrap_err().to_string();
        assert!(error.ends_with("no address of the server is given"), "{error}");
    }
}
