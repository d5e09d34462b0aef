//! A server that runs already: where it is, who is asked for, and how it is restarted. Never a password.

use super::arguments;
use std::path::PathBuf;
use tare_engine::{Login, TlsMode};
use tare_text::Value;

/// Keys of `[engine]` that lead to a server that someone else runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunningSettings {
    /// Path of its Unix socket, on this machine.
    pub socket: Option<PathBuf>,
    /// Its host, for TCP.
    pub host: Option<String>,
    /// Its port, for TCP; none: the engine's usual one.
    pub port: Option<u16>,
    /// Account; none: that of the user's own files, or the engine's usual one.
    pub user: Option<String>,
    /// Database that holds the tables; none: sbtest.
    pub database: Option<String>,
    /// MySQL's option file that is read in place of ~/.my.cnf.
    pub option_file: Option<PathBuf>,
    /// A service of PostgreSQL's pg_service.conf.
    pub service: Option<String>,
    /// Whether the connection is encrypted; none: as the user's own files say, or not.
    pub tls: Option<TlsMode>,
    /// Certificates of the authorities that are believed.
    pub tls_ca: Option<PathBuf>,
    /// The client's own certificate.
    pub tls_cert: Option<PathBuf>,
    /// Its private key; none: it stands in the same file.
    pub tls_key: Option<PathBuf>,
    /// MySQL: the file with the server's RSA key, with which a password may be encrypted.
    pub server_public_key: Option<PathBuf>,
    /// MySQL: whether the key that the server sends is used for that; none: as the user's own files say, or not.
    pub get_server_public_key: Option<bool>,
    /// The command that restarts it before every trial, as a list of arguments; empty: it is not restarted.
    pub restart: Vec<String>,
}

impl RunningSettings {
    /// Whether the study is about a server that runs already.
    pub fn is_asked(&self) -> bool {
        self.socket.is_some() || self.host.is_some() || self.option_file.is_some() || self.service.is_some()
    }

    /// What the study says of a login, with a password from elsewhere.
    pub fn login(&self, password: Option<String>) -> Login {
        let Self { socket, host, port, user, database, option_file, service, .. } = self.clone();
        let Self { tls, tls_ca, tls_cert, tls_key, server_public_key, get_server_public_key, .. } = self.clone();
        Login {
            socket,
            host,
            port,
            user,
            password,
            database,
            tls,
            tls_ca,
            tls_cert,
            tls_key,
            server_public_key,
            get_server_public_key,
            option_file,
            service,
        }
    }

    pub fn set_tls(&mut self, value: &Value) -> Result<(), String> {
        value.parsed().map(|mode: TlsMode| self.tls = Some(mode))
    }

    /// Reads a list of arguments from its JSON text, or words separated by blanks.
    pub fn set_restart(&mut self, value: &Value) -> Result<(), String> {
        self.restart = arguments::read(value).ok_or(RESTART)?;
        Ok(())
    }
}

const RESTART: &str = "a program and its arguments, for example [\"systemctl\", \"restart\", \"mariadb\"]";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_is_a_list_of_arguments_and_never_a_shell_line() {
        let mut running = RunningSettings::default();
        running.set_restart(&"systemctl restart mariadb".into()).unwrap();
        assert_eq!(running.restart, ["systemctl", "restart", "mariadb"]);
        let text = arguments::text(&running.restart).unwrap();
        running.set_restart(&r#"["sh", "-c", "a; b"]"#.into()).unwrap();
        assert_eq!(running.restart, ["sh", "-c", "a; b"]);
        running.set_restart(&text).unwrap();
        assert_eq!(running.restart.len(), 3);
        assert!(running.set_restart(&"[1]".into()).is_err() && running.set_restart(&"  ".into()).is_err());
    }
}
