//! `[client]`: clients on another host than their server.

use super::other_host::OtherHost;
use std::net::IpAddr;
use tare_text::Value;

/// Where the clients are, and where a server listens for them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientSettings {
    /// The host that they run on; this one where none is said.
    pub on: OtherHost,
    /// The address of this host at which a server that is started listens for them.
    pub server_address: Option<IpAddr>,
}

impl ClientSettings {
    pub fn set_server_address(&mut self, value: &Value) -> Result<(), String> {
        let address = value.to_string().parse().map_err(|_| "an IP address of this host, for example 192.0.2.1")?;
        self.server_address = Some(address);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_number() {
        let mut client = ClientSettings::default();
        assert!(client.set_server_address(&"here".into()).is_err());
        client.set_server_address(&"::1".into()).unwrap();
    }
}
