//! The user's own files with login parameters, which may contain a password: MySQL's and MariaDB's option files (the
//! client groups of `~/.my.cnf` or of a given file), and PostgreSQL's services (sections of `pg_service.conf`).

use super::Login;
use crate::contract::option_file::{OptionLine, my_cnf_line};
use crate::{EngineError, TlsMode};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tare_files::FilesError;

/// Limit on the size of the file, bytes: a file of settings is no larger.
const LARGEST: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    /// Only its owner may write to it; others may read it. Its content decides which server gets the password.
    ToWriters,
    /// Other users may neither read nor write it, as PostgreSQL requires for its password file.
    ToAll,
}

/// The text of a file; none if it does not exist.
pub(super) fn read(path: &Path, closed: Closed) -> Result<Option<String>, EngineError> {
    let wrong = |reason: String| EngineError::LoginFile { path: path.to_owned(), reason };
    let unreadable = |error: FilesError| wrong(format!("cannot be read: {error}"));
    let Some(file) = tare_files::open_named(path).map_err(unreadable)? else { return Ok(None) };
    let meta = file.metadata().map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let me = rustix::process::geteuid().as_raw();
    if ![me, 0].contains(&meta.uid()) {
        let whose = format!("belongs to user {}, who may change it, and this process runs as user {me}", meta.uid());
        return Err(wrong(format!("{whose}: use a file of your own")));
    }
    let (open, mode) = match closed {
        Closed::ToWriters => (meta.mode() & 0o022 != 0, "go-w"),
        Closed::ToAll => (meta.mode() & 0o077 != 0, "0600"),
    };
    if open {
        let what = if closed == Closed::ToAll { "others may read or change it" } else { "others may change it" };
        return Err(wrong(format!("{what}, and it may hold a password: chmod {mode} {}", path.display())));
    }
    let bytes = tare_files::read_all(file, path, LARGEST).map_err(unreadable)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// A file in the user's home; `~/` at the beginning of a given path means the same.
fn in_home(name: &str) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())?;
    Some(home.join(name))
}

/// A given path, with a leading `~/` expanded.
pub(super) fn given(path: &Path) -> PathBuf {
    path.strip_prefix("~").ok().and_then(|rest| in_home(&rest.display().to_string())).unwrap_or_else(|| path.to_owned())
}

/// A variable that holds a path or a name; an empty one counts as unset.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The login parameters in an option file: from the client groups (`sections`), in file order; a later value wins.
pub(crate) fn of_option_file(requested: Option<&Path>, sections: &[&str]) -> Result<Login, EngineError> {
    let Some(path) = requested.map(given).or_else(|| in_home(".my.cnf")) else { return Ok(Login::default()) };
    match read(&path, Closed::ToWriters)? {
        Some(text) => {
            parse_option_file(&text, sections).map_err(|reason| EngineError::LoginFile { path: path.clone(), reason })
        }
        None if requested.is_some() => {
            Err(EngineError::LoginFile { path, reason: "there is no such option file".to_owned() })
        }
        None => Ok(Login::default()),
    }
}

/// Its error messages never contain a value, which may be the password.
fn parse_option_file(text: &str, sections: &[&str]) -> Result<Login, String> {
    let (mut login, mut wanted) = (Login::default(), false);
    for (number, line) in text.lines().enumerate() {
        match my_cnf_line(line.trim(), &|section| sections.contains(&section)) {
            OptionLine::Group(ours) => wanted = ours,
            OptionLine::Option(name, value) if wanted => set_option(&mut login, &name, value)
                .map_err(|expected| format!("line {}: {name} needs {expected}", number + 1))?,
            // Included files may belong to other users: permissions were checked only for the file itself.
            OptionLine::Option(..) | OptionLine::File(..) | OptionLine::Folder(..) | OptionLine::Empty => {}
        }
    }
    Ok(login)
}

fn set_option(login: &mut Login, name: &str, value: Option<String>) -> Result<(), &'static str> {
    match name {
        "user" => login.user = value,
        "password" => login.password = value,
        "host" => login.host = value,
        "port" => login.port = Some(value.and_then(|port| port.parse().ok()).ok_or("a port from 1 to 65535")?),
        "socket" => login.socket = value.map(Into::into),
        "ssl_ca" => login.tls_ca = value.map(|path| given(Path::new(&path))),
        "ssl_cert" => login.tls_cert = value.map(|path| given(Path::new(&path))),
        "ssl_key" => login.tls_key = value.map(|path| given(Path::new(&path))),
        "server_public_key_path" => login.server_public_key = value.map(|path| given(Path::new(&path))),
        "get_server_public_key" => login.get_server_public_key = Some(is_on(value.as_deref())),
        "ssl_mode" => {
            let mode = value.and_then(|mode| mode.parse().ok());
            login.tls = Some(mode.ok_or("DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY")?);
        }
        // MariaDB's options for the same.
        "ssl" if is_on(value.as_deref()) => {
            login.tls.get_or_insert(TlsMode::Required);
        }
        "ssl" | "skip_ssl" => login.tls = Some(TlsMode::Off),
        "ssl_verify_server_cert" if is_on(value.as_deref()) => login.tls = Some(TlsMode::VerifyFull),
        _ => {}
    }
    Ok(())
}

fn is_on(value: Option<&str>) -> bool {
    value.is_none_or(|value| ["1", "on", "true"].contains(&value.to_lowercase().as_str()))
}

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
        if let Some(login) = parse_services(&text, name).map_err(wrong)? {
            return Ok(login);
        }
    }
    let searched: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
    let path = places.into_iter().next().unwrap_or_default();
    Err(EngineError::LoginFile { path, reason: format!("no service {name} in {}", searched.join(", ")) })
}

fn parse_services(text: &str, wanted: &str) -> Result<Option<Login>, String> {
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
    use proptest::prelude::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_a_group_or_another_user_could_have_written_and_what_is_no_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.cnf");
        std::fs::write(&path, "[client]\npassword=secret\n").unwrap();
        let with = |mode: u32, closed| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            read(&path, closed).map_err(|error| error.to_string())
        };
        assert!(with(0o644, Closed::ToWriters).unwrap().unwrap().contains("secret"));
        assert!(with(0o600, Closed::ToAll).unwrap().is_some());
        for mode in [0o664, 0o646] {
            let error = with(mode, Closed::ToWriters).unwrap_err();
            assert!(error.contains("chmod go-w") && !error.contains("secret"), "{error}");
        }
        assert!(with(0o640, Closed::ToAll).unwrap_err().contains("chmod 0600"));
        if rustix::process::geteuid().is_root() {
            with(0o600, Closed::ToAll).unwrap();
            std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
            for closed in [Closed::ToWriters, Closed::ToAll] {
                let error = read(&path, closed).unwrap_err().to_string();
                assert!(error.contains("belongs to user 65534"), "{error}");
            }
        }
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        for path in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
            assert!(read(path, Closed::ToWriters).unwrap_err().to_string().contains("not a regular file"));
        }
        std::fs::write(&path, vec![b'#'; LARGEST as usize + 1]).unwrap();
        std::os::unix::fs::chown(&path, Some(rustix::process::geteuid().as_raw()), None).unwrap();
        assert!(with(0o600, Closed::ToAll).unwrap_err().contains("larger than"));
    }

    #[test]
    fn sections_of_clients_are_read_as_mysql_reads_them() {
        let text = "password=outside\n[mysqld]\npassword=server\n# a comment\n[client]\nuser = me\n\
                    password=\"se # cret\\s\\\\\"\nport=3307\nssl_mode=VERIFY_CA\nskip-something\n\
                    [client-mariadb]\nuser=other # said later\nsocket='/run/my sql/s'\n[mysqldump]\nuser=dump\n";
        let login = parse_option_file(text, &["client", "client-mariadb"]).unwrap();
        assert_eq!(login.user.as_deref(), Some("other"));
        assert_eq!(login.password.as_deref(), Some("se # cret \\"));
        assert_eq!((login.port, login.tls), (Some(3307), Some(TlsMode::VerifyCa)));
        assert_eq!(login.socket, Some("/run/my sql/s".into()));
        assert_eq!(parse_option_file(text, &["client"]).unwrap().user.as_deref(), Some("me"));
        let wrong = parse_option_file("[client]\nport=many\n", &["client"]).unwrap_err();
        assert_eq!(wrong, "line 2: port needs a port from 1 to 65535");
        let mariadb = parse_option_file("[client]\nssl\nssl-verify-server-cert=1\n", &["client"]).unwrap();
        assert_eq!(mariadb.tls, Some(TlsMode::VerifyFull));
        let key =
            parse_option_file("[client]\nserver_public_key_path=/k.pem\nget-server-public-key\n", &["client"]).unwrap();
        assert_eq!((key.server_public_key, key.get_server_public_key), (Some("/k.pem".into()), Some(true)));
    }

    proptest! {
        #[test]
        fn any_text_is_a_login_or_a_reason_without_its_values(text in "[a-z=\\[\\]\"'\\\\ #\n-]{0,80}") {
            let _ = parse_option_file(&format!("[client]\n{text}"), &["client"]);
        }
    }

    #[test]
    fn a_service_is_its_section_alone() {
        let text = "[other]\nhost=elsewhere\n# mine\n[mine]\nhost=/run/pg\nport=5433\nuser=me\ndbname=shop\n\
                    sslmode=verify-full\n[last]\npassword=x\n";
        let login = parse_services(text, "mine").unwrap().unwrap();
        assert_eq!((login.host.as_deref(), login.port), (Some("/run/pg"), Some(5433)));
        assert_eq!((login.user.as_deref(), login.password), (Some("me"), None));
        assert_eq!((login.database.as_deref(), login.tls), (Some("shop"), Some(TlsMode::VerifyFull)));
        assert_eq!(parse_services(text, "none").unwrap(), None);
        assert!(parse_services("[mine]\nnothing\n", "mine").unwrap_err().contains("line 2"));
        let wrong = parse_services("[mine]\nsslmode=maybe\n", "mine").unwrap_err();
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
