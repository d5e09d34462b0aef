//! MySQL's and MariaDB's option files: the client groups of `~/.my.cnf` or of a given file.

use super::Login;
use super::text::{Closed, given, in_home, read};
use crate::contract::option_file::{OptionLine, my_cnf_line};
use crate::{EngineError, TlsMode};
use std::path::Path;

/// The login parameters in an option file: from the client groups (`sections`), in file order; a later value wins.
pub(crate) fn of_option_file(requested: Option<&Path>, sections: &[&str]) -> Result<Login, EngineError> {
    let Some(path) = requested.map(given).or_else(|| in_home(".my.cnf")) else { return Ok(Login::default()) };
    match read(&path, Closed::ToWriters)? {
        Some(text) => parse(&text, sections).map_err(|reason| EngineError::LoginFile { path: path.clone(), reason }),
        None if requested.is_some() => {
            Err(EngineError::LoginFile { path, reason: "there is no such option file".to_owned() })
        }
        None => Ok(Login::default()),
    }
}

/// Its error messages never contain a value, which may be the password.
fn parse(text: &str, sections: &[&str]) -> Result<Login, String> {
    let (mut login, mut wanted) = (Login::default(), false);
    for (number, line) in text.lines().enumerate() {
        match my_cnf_line(line.trim(), &|section| sections.contains(&section)) {
            OptionLine::Group(ours) => wanted = ours,
            OptionLine::Option(name, value) if wanted => set(&mut login, &name, value)
                .map_err(|expected| format!("line {}: {name} needs {expected}", number + 1))?,
            // Included files may belong to other users: permissions were checked only for the file itself.
            OptionLine::Option(..) | OptionLine::File(..) | OptionLine::Folder(..) | OptionLine::Empty => {}
        }
    }
    Ok(login)
}

fn set(login: &mut Login, name: &str, value: Option<String>) -> Result<(), &'static str> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sections_of_clients_are_read_as_mysql_reads_them() {
        let text = "password=outside\n[mysqld]\npassword=server\n# a comment\n[client]\nuser = me\n\
                    password=\"se # cret\\s\\\\\"\nport=3307\nssl_mode=VERIFY_CA\nskip-something\n\
                    [client-mariadb]\nuser=other # said later\nsocket='/run/my sql/s'\n[mysqldump]\nuser=dump\n";
        let login = parse(text, &["client", "client-mariadb"]).unwrap();
        assert_eq!(login.user.as_deref(), Some("other"));
        assert_eq!(login.password.as_deref(), Some("se # cret \\"));
        assert_eq!((login.port, login.tls), (Some(3307), Some(TlsMode::VerifyCa)));
        assert_eq!(login.socket, Some("/run/my sql/s".into()));
        assert_eq!(parse(text, &["client"]).unwrap().user.as_deref(), Some("me"));
        let wrong = parse("[client]\nport=many\n", &["client"]).unwrap_err();
        assert_eq!(wrong, "line 2: port needs a port from 1 to 65535");
        let mariadb = parse("[client]\nssl\nssl-verify-server-cert=1\n", &["client"]).unwrap();
        assert_eq!(mariadb.tls, Some(TlsMode::VerifyFull));
        let key = parse("[client]\nserver_public_key_path=/k.pem\nget-server-public-key\n", &["client"]).unwrap();
        assert_eq!((key.server_public_key, key.get_server_public_key), (Some("/k.pem".into()), Some(true)));
    }

    proptest! {
        #[test]
        fn any_text_is_a_login_or_a_reason_without_its_values(text in "[a-z=\\[\\]\"'\\\\ #\n-]{0,80}") {
            let _ = parse(&format!("[client]\n{text}"), &["client"]);
        }
    }
}
