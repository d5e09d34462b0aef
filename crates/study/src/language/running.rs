//! A server that is already running: its address, the account, and how it is restarted. Never a password.

use super::lists;
use tare_engine::{Login, TlsMode};
use tare_text::Value;

/// Keys of `[engine]` for a server that someone else runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunningSettings {
    /// Its address and the account; never with a password.
    pub requested: Login,
    /// The command that restarts it before every trial, as a list of arguments; empty: it is not restarted.
    pub restart: Vec<String>,
}

impl RunningSettings {
    /// Whether the study uses a server that is already running.
    pub fn is_requested(&self) -> bool {
        let Login { socket, host, option_file, service, .. } = &self.requested;
        socket.is_some() || host.is_some() || option_file.is_some() || service.is_some()
    }

    /// The login parameters of the study, with a password from elsewhere.
    pub fn login(&self, password: Option<String>) -> Login {
        Login { password, ..self.requested.clone() }
    }

    pub(crate) fn set_tls(&mut self, value: &Value) -> Result<(), String> {
        value.parsed().map(|mode: TlsMode| self.requested.tls = Some(mode))
    }

    /// Reads a list of arguments from its JSON text, or from words separated by blanks.
    pub(crate) fn set_restart(&mut self, value: &Value) -> Result<(), String> {
        self.restart = lists::arguments(value).ok_or(RESTART)?;
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
        let text = lists::text(&running.restart).unwrap();
        running.set_restart(&r#"["sh", "-c", "a; b"]"#.into()).unwrap();
        assert_eq!(running.restart, ["sh", "-c", "a; b"]);
        running.set_restart(&text).unwrap();
        assert_eq!(running.restart.len(), 3);
        assert!(running.set_restart(&"[1]".into()).is_err() && running.set_restart(&"  ".into()).is_err());
    }
}
