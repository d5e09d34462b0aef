//! What runs elsewhere: a server that is already running (its address, the account, and how it is restarted; never a
//! password), and another host with the command that reaches it.

use std::net::IpAddr;
use tare_engine::Login;
use tare_text::{Value, quoted};

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
}

/// The default command to reach another host. It never prompts, and detects within a quarter of a minute that the
/// other side is gone.
const SSH: [&str; 8] =
    ["ssh", "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"];

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OtherHost {
    /// The host, in ssh's notation; none: this host.
    pub host: Option<String>,
    /// The program that reaches it, with its options; the host and the remote command are appended.
    pub ssh: Vec<String>,
    pub program: Vec<String>,
}

impl OtherHost {
    /// Sets the host, in ssh's notation.
    ///
    /// # Errors
    /// What was expected: an option of ssh is refused, because it could run other programs here.
    pub(crate) fn set_host(&mut self, value: &Value) -> Result<(), String> {
        let host = value.to_string();
        if host.is_empty() || host.starts_with('-') || host.contains(char::is_whitespace) {
            return Err("a host, as in user@host".to_owned());
        }
        self.host = Some(host);
        Ok(())
    }

    /// The words of a command that runs this program with these arguments on the host; none for this host.
    pub(crate) fn command(&self, arguments: &[&str]) -> Option<Vec<String>> {
        let host = self.host.clone()?;
        let mut words: Vec<String> = match self.ssh.is_empty() {
            true => SSH.map(str::to_owned).to_vec(),
            false => self.ssh.clone(),
        };
        words.push(host);
        // ssh joins the remaining words with blanks, and the remote shell splits them again.
        let own = ["tare".to_owned()];
        let program = if self.program.is_empty() { own.as_slice() } else { self.program.as_slice() };
        let there = program.iter().map(String::as_str).chain(arguments.iter().copied());
        words.push(there.map(quoted).collect::<Vec<_>>().join(" "));
        Some(words)
    }
}

/// Where the clients run, and where a server listens for them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientSettings {
    /// The host that they run on; by default this host.
    pub on: OtherHost,
    /// The address of this host at which a started server listens for them.
    pub server_address: Option<IpAddr>,
    /// Whether they spin instead of sleeping until their server answers.
    pub spin: bool,
}

impl ClientSettings {
    pub(crate) fn set_server_address(&mut self, value: &Value) -> Result<(), String> {
        let address = value.to_string().parse().map_err(|_| "an IP address of this host, for example 192.0.2.1")?;
        self.server_address = Some(address);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_for_the_other_host_is_one_word_that_a_shell_takes_apart() {
        let mut there = OtherHost::default();
        assert_eq!(there.command(&["x"]), None);
        there.set_host(&"me@there".into()).unwrap();
        assert_eq!(there.command(&["x"]).unwrap()[SSH.len()..], ["me@there", "tare x"]);
        there.ssh = ["ssh", "-p", "2222"].map(str::to_owned).into();
        there.program = ["env", "A=b c", "/opt/it's/tare"].map(str::to_owned).into();
        let command = there.command(&["x"]).unwrap();
        assert_eq!(command, ["ssh", "-p", "2222", "me@there", r"env 'A=b c' '/opt/it'\''s/tare' x"]);
    }

    #[test]
    fn a_host_that_looks_like_an_option_is_refused() {
        let mut there = OtherHost::default();
        for wrong in ["", "-oProxyCommand=x", "a b"] {
            assert!(there.set_host(&wrong.into()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_address_is_a_number() {
        let mut client = ClientSettings::default();
        assert!(client.set_server_address(&"here".into()).is_err());
        client.set_server_address(&"::1".into()).unwrap();
    }
}
