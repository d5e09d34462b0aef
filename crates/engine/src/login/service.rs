//! PostgreSQL's services: sections of `pg_service.conf` with the parameters of a connection.

use super::Login;
use super::text::{Closed, in_home, read, variable};
use crate::{EngineError, TlsMode};
use std::path::{Path, PathBuf};

pub(super) const MODES: &str = "disable, allow, prefer, require, verify-ca or verify-full";
const SYSTEM: &str = "/etc/postgresql-common/pg_service.conf";

/// The parameters of this service, from `PGSERVICEFILE` or `~/.pg_service.conf`, then from the system's file.
pub(crate) fn of_service(name: &str) -> Result<Login, EngineError> {
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
            "sslcert" => login.tls_cert = Some(value.into()),
            "sslkey" => login.tls_key = Some(value.into()),
            "sslmode" => {
                let mode = value.parse().map_err(|_| format!("line {number}: sslmode needs {MODES}"))?;
                login.tls = Some(mode);
            }
            _ => {}
        }
    }
    login.port = port;
    Ok(found.then_some(login))
}

const ROOT_CERTIFICATE: &str = ".postgresql/root.crt";

/// Applies libpq's rules: authorities that are given, or exist in the usual place, are also used for verification if
/// only encryption was requested; `system` means those of the system, for which the host name must match.
pub(crate) fn as_libpq_reads(mut login: Login) -> Login {
    if login.tls.is_some() && login.tls_ca.is_none() {
        login.tls_ca = in_home(ROOT_CERTIFICATE).filter(|path| path.exists());
    }
    if login.tls_ca.as_deref() == Some(Path::new("system")) {
        login.tls_ca = None;
        login.tls = login.tls.filter(|mode| *mode == TlsMode::Off).or(Some(TlsMode::VerifyFull));
    } else if login.tls_ca.is_some() && login.tls == Some(TlsMode::Required) {
        login.tls = Some(TlsMode::VerifyCa);
    }
    login
}

/// The password of the first matching line of `PGPASSFILE` or `~/.pgpass`. A Unix socket counts as localhost.
pub(crate) fn password_of(host: &str, port: u16, database: &str, user: &str) -> Result<Option<String>, EngineError> {
    let Some(path) = variable("PGPASSFILE").map(PathBuf::from).or_else(|| in_home(".pgpass")) else { return Ok(None) };
    let text = read(&path, Closed::ToAll)?.unwrap_or_default();
    Ok(password_in(&text, [host, &port.to_string(), database, user]))
}

fn password_in(text: &str, wanted: [&str; 4]) -> Option<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(fields).find_map(|fields| {
        let [key @ .., password] = fields.as_slice() else { return None };
        let fits = key.len() == wanted.len() && key.iter().zip(wanted).all(|(key, wanted)| key == "*" || key == wanted);
        fits.then(|| password.clone())
    })
}

/// Fields between colons; a backslash escapes the next character.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        match char {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields.iter_mut().last().into_iter().for_each(|field| field.extend(chars.next())),
            char => fields.iter_mut().last().into_iter().for_each(|field| field.push(char)),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_its_section_alone() {
        let text = "[other]\nhost=elsewhere\n# mine\n[mine]\nhost=/run/pg\nport=5433\nuser=me\ndbname=shop\n\
                    sslmode=verify-full\n[last]\npassword=x\n";
        let login = parse(text, "mine").unwrap().unwrap();
        assert_eq!((login.host.as_deref(), login.port), (Some("/run/pg"), Some(5433)));
        assert_eq!((login.user.as_deref(), login.password), (Some("me"), None));
        assert_eq!((login.database.as_deref(), login.tls), (Some("shop"), Some(TlsMode::VerifyFull)));
        assert_eq!(parse(text, "none").unwrap(), None);
        assert!(parse("[mine]\nnothing\n", "mine").unwrap_err().contains("line 2"));
        let wrong = parse("[mine]\nsslmode=maybe\n", "mine").unwrap_err();
        assert!(wrong.contains("line 2") && wrong.contains("verify-ca"), "{wrong}");
    }

    #[test]
    fn a_given_certificate_authority_is_used_for_verification() {
        let of = |tls, ca: &str| {
            let login = as_libpq_reads(Login { tls: Some(tls), tls_ca: Some(ca.into()), ..Login::default() });
            (login.tls.unwrap(), login.tls_ca.is_some())
        };
        assert_eq!(of(TlsMode::Required, "/ca"), (TlsMode::VerifyCa, true));
        assert_eq!(of(TlsMode::Required, "system"), (TlsMode::VerifyFull, false));
        assert_eq!(of(TlsMode::Preferred, "/ca"), (TlsMode::Preferred, true));
        assert_eq!(of(TlsMode::Off, "system"), (TlsMode::Off, false));
    }

    #[test]
    fn the_first_matching_line_of_a_password_file_is_used() {
        let text = "# mine\ndb:5432:shop:me:one\n*:*:*:me:t\\:w\\\\o\n*:5433:*:*:three\nbroken\n";
        let of = |wanted| password_in(text, wanted);
        assert_eq!(of(["db", "5432", "shop", "me"]).as_deref(), Some("one"));
        assert_eq!(of(["localhost", "5432", "shop", "me"]).as_deref(), Some("t:w\\o"));
        assert_eq!(of(["db", "5433", "x", "you"]).as_deref(), Some("three"));
        assert_eq!(of(["db", "5432", "shop", "you"]), None);
    }
}
