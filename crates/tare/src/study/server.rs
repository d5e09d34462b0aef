//! `[server]`: servers on another host than the one where a study is started, which then drives them.

use super::arguments;
use super::client::ClientSettings;
use tare_text::Value;

/// Where the servers of a study are, and how that host is reached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerSettings {
    /// The host, as ssh names it; none: this one.
    pub host: Option<String>,
    /// The program that reaches it, with its options; the host and the command to run there follow.
    pub ssh: Vec<String>,
    /// This program on that host, with what stands before it.
    pub program: Vec<String>,
}

impl ServerSettings {
    /// Sets the host of the servers.
    ///
    /// # Errors
    /// What was expected: no option of ssh's, which would run other programs here.
    pub fn set_host(&mut self, value: &Value) -> Result<(), String> {
        let mut way = ClientSettings::default();
        way.set_host(value)?;
        self.host = way.host;
        Ok(())
    }

    /// Sets the program that reaches the host.
    ///
    /// # Errors
    /// What was expected.
    pub fn set_ssh(&mut self, value: &Value) -> Result<(), String> {
        let expected = "a program and its arguments, for example [\"ssh\", \"-p\", \"2222\"]";
        self.ssh = arguments::read(value).ok_or(expected)?;
        Ok(())
    }

    /// Sets the program on that host.
    ///
    /// # Errors
    /// What was expected.
    pub fn set_program(&mut self, value: &Value) -> Result<(), String> {
        let expected = "a program and its arguments, for example [\"sudo\", \"/opt/tare/bin/tare\"]";
        self.program = arguments::read(value).ok_or(expected)?;
        Ok(())
    }

    /// The way to that host, as it is to one of clients.
    pub fn way(&self) -> ClientSettings {
        let Self { host, ssh, program } = self.clone();
        ClientSettings { host, ssh, program, server_address: None }
    }
}
