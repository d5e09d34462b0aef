//! PostgreSQL's services: sections of `pg_service.conf` with the parameters of a connection.

use std::path::PathBuf;

use super::super::{EngineError, TlsMode};
use super::Login;
use super::text::{Closed, in_home, read, variable};

/// Where services of the whole system stand.
const SYSTEM: &str = "/etc/postgresql-common/pg_service.conf";

/// What the service of this name says: `PGSERVICEFILE` or `~/.pg_service.conf`, then the system's file.
///
/// # Errors
/// When no file has it, or its section cannot be understood.
pub(in super::super) fn of_service(name: &str) -> Result<Login, EngineError> {
    let own = variable("PGSERVICEFILE").map(PathBuf::from).or_else(|| in_home(".pg_service.conf"));
    let system =
        variable("PGSYSCONFDIR").map_or_else(|| SYSTEM.into(), |dir| PathBuf::from(dir).join("pg_service.conf"));
    let places: Vec<PathBuf> = own.into_iter().chain([system]).collect();
    for path in &places {
        let Some(text) = read(path, Closed::ToWriters)? else { continue };
        let wrong = |reason| EngineError::LoginFile { path: path.clone(), reason };
        if let Some(login) = parse(&text, name).map_err(wrong)? {
            return Ok(login);
        }
    }
    let searched: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
    let path = places.into_iter().next().unwrap_or_default();
    Err(EngineError::LoginFile { path, reason: format!("no service {name} in {}", searched.join(", ")) })
}

fn parse(text: &str, wanted: &str) -> Result<Option<Login>, String> {
    let (mut login, mut inside, mut found, mut port) = (Login::default(), false, false, None);
    for (number, line) in text.lines().enumerate().map(|(number, line)| (number + 1, line.trim())) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(section) = line.strip_prefix('[') {
            inside = section.strip_suffix(']') == Some(wanted);
            found |= inside;
            continue;
        }
        if !inside {
            continue;
        }
        let (key, value) = line.split_once('=').ok_or_else(|| format!("line {number}: expected name=value"))?;
        let value = value.trim().to_owned();
        match key.trim() {
            "host" => login.host = Some(value),
            "port" => port = Some(value.parse().map_err(|_| format!("line {number}: port needs a number"))?),
            "user" => login.user = Some(value),
            "password" => login.password = Some(value),
            "dbname" => login.database = Some(value),
            "sslrootcert" => login.tls_ca = Some(value.into()),
            "sslmode" => login.tls = Some(mode(&value).ok_or_else(|| format!("line {number}: not an sslmode"))?),
            _ => {}
        }
    }
    login.port = port;
    // A host that is a folder is that of a Unix socket.
    if let Some(folder) = login.host.take_if(|host| host.starts_with('/')) {
        login.socket = Some(socket_in(&folder, port));
    }
    Ok(found.then_some(login))
}

/// The socket of a server in a folder.
fn socket_in(folder: &str, port: Option<u16>) -> PathBuf {
    PathBuf::from(folder).join(format!(".s.PGSQL.{}", port.unwrap_or(5432)))
}

fn mode(word: &str) -> Option<TlsMode> {
    Some(match word {
        "disable" => TlsMode::Off,
        "allow" | "prefer" => TlsMode::Preferred,
        "require" => TlsMode::Required,
        "verify-ca" => TlsMode::VerifyCa,
        "verify-full" => TlsMode::VerifyFull,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_its_section_alone() {
        let text = "[other]\nhost=elsewhere\n# mine\n[mine]\nhost=/run/pg\nport=5433\nuser=me\ndbname=shop\n\
                    sslmode=verify-full\n[last]\npassword=x\n";
        let login = parse(text, "mine").unwrap().unwrap();
        assert_eq!(login.socket, Some("/run/pg/.s.PGSQL.5433".into()));
        assert_eq!((login.host, login.user.as_deref(), login.password), (None, Some("me"), None));
        assert_eq!((login.database.as_deref(), login.tls), (Some("shop"), Some(TlsMode::VerifyFull)));
        assert_eq!(parse(text, "none").unwrap(), None);
        assert!(parse("[mine]\nnothing\n", "mine").unwrap_err().contains("line 2"));
    }
}
