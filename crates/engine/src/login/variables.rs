//! Login parameters from the environment variables that the clients of each server read.

use super::Login;
use super::files::{MODES, variable};
use crate::EngineError;
use std::path::PathBuf;

/// The variables of libpq: PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE, PGSSLMODE, PGSSLROOTCERT, PGSSLCERT,
/// PGSSLKEY.
pub(crate) fn of_variables_of_libpq() -> Result<Login, EngineError> {
    libpq(&variable)
}

/// The variables of MySQL's and MariaDB's clients: MYSQL_UNIX_PORT, MYSQL_HOST, MYSQL_TCP_PORT, MYSQL_PWD.
pub(crate) fn of_variables_of_mysql() -> Result<Login, EngineError> {
    mysql(&variable)
}

fn libpq(read: &dyn Fn(&str) -> Option<String>) -> Result<Login, EngineError> {
    let mode = read("PGSSLMODE").map(|word| word.parse().map_err(|_| wrong("PGSSLMODE", MODES, &word)));
    let path = |name: &str| read(name).map(PathBuf::from);
    Ok(Login {
        host: read("PGHOST"),
        port: port("PGPORT", read)?,
        user: read("PGUSER"),
        password: read("PGPASSWORD"),
        database: read("PGDATABASE"),
        tls: mode.transpose()?,
        tls_ca: path("PGSSLROOTCERT"),
        tls_cert: path("PGSSLCERT"),
        tls_key: path("PGSSLKEY"),
        ..Login::default()
    })
}

/// With a host the connection uses TCP, even if the variable of a socket is set.
fn mysql(read: &dyn Fn(&str) -> Option<String>) -> Result<Login, EngineError> {
    let host = read("MYSQL_HOST").filter(|host| host != "localhost");
    let socket = read("MYSQL_UNIX_PORT").map(PathBuf::from).filter(|_| host.is_none());
    Ok(Login { host, socket, port: port("MYSQL_TCP_PORT", read)?, password: read("MYSQL_PWD"), ..Login::default() })
}

fn port(name: &str, read: &dyn Fn(&str) -> Option<String>) -> Result<Option<u16>, EngineError> {
    let port = |word: String| word.parse().map_err(|_| wrong(name, "a port from 1 to 65535", &word));
    read(name).map(port).transpose()
}

fn wrong(name: &str, expected: &str, found: &str) -> EngineError {
    EngineError::LoginFile { path: name.into(), reason: format!("expected {expected}, found {found}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TlsMode;

    #[test]
    fn variables_are_those_of_each_servers_clients() {
        let of_libpq = |name: &str| {
            let value = match name {
                "PGHOST" => "/var/run/postgresql",
                "PGPORT" => "5433",
                "PGUSER" => "me",
                "PGDATABASE" => "shop",
                "PGSSLMODE" => "require",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let login = libpq(&of_libpq).unwrap();
        assert_eq!((login.host.as_deref(), login.port), (Some("/var/run/postgresql"), Some(5433)));
        assert_eq!((login.user.as_deref(), login.database.as_deref()), (Some("me"), Some("shop")));
        assert_eq!((login.tls, login.password), (Some(TlsMode::Required), None));
        let error = libpq(&|name| (name == "PGPORT").then(|| "many".to_owned())).unwrap_err().to_string();
        assert_eq!(error, "PGPORT: expected a port from 1 to 65535, found many");
    }

    #[test]
    fn a_host_of_mysql_is_reached_by_tcp_and_localhost_by_its_socket() {
        let with = |host: &'static str| {
            mysql(&|name| match name {
                "MYSQL_HOST" => Some(host.to_owned()),
                "MYSQL_UNIX_PORT" => Some("/run/s".to_owned()),
                "MYSQL_PWD" => Some("secret".to_owned()),
                _ => None,
            })
            .unwrap()
        };
        assert_eq!((with("db").host.as_deref(), with("db").socket), (Some("db"), None));
        assert_eq!(with("db").password.as_deref(), Some("secret"));
        assert_eq!((with("localhost").host, with("localhost").socket), (None, Some("/run/s".into())));
    }
}
