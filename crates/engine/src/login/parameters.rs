//! Login parameters, from any source.

use crate::TlsMode;
use std::fmt;
use std::path::PathBuf;

/// How to reach a server, and with which account. The user's own files supply what is missing here.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Login {
    pub socket: Option<PathBuf>,
    /// Name or address of the server's machine, for TCP.
    pub host: Option<String>,
    /// Port; none: the engine's default.
    pub port: Option<u16>,
    /// Account on the server; none: the engine's default.
    pub user: Option<String>,
    /// Authenticates the account; never printed.
    pub password: Option<String>,
    pub database: Option<String>,
    pub tls: Option<TlsMode>,
    pub tls_ca: Option<PathBuf>,
    /// The client certificate, if the server asks for one.
    pub tls_cert: Option<PathBuf>,
    /// Its private key; none: it is in the same file.
    pub tls_key: Option<PathBuf>,
    /// For MySQL: a file with the server's public key, which encrypts passwords.
    pub server_public_key: Option<PathBuf>,
    /// Whether to use the key that the server sends instead.
    pub get_server_public_key: Option<bool>,
    /// The option file to read instead of the usual one.
    pub option_file: Option<PathBuf>,
    pub service: Option<String>,
}

impl fmt::Debug for Login {
    // Implemented by hand, so that no log shows the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:?} {:?} port {:?}", self.user, self.socket, self.host, self.port)
    }
}

impl Login {
    /// Takes from `other` what is missing here. Socket and host are taken together: the socket of one is never
    /// combined with the host of the other.
    #[must_use]
    pub(crate) fn or(self, other: Self) -> Self {
        let placed = self.socket.is_some() || self.host.is_some();
        let (socket, host) = if placed { (self.socket, self.host) } else { (other.socket, other.host) };
        Self {
            socket,
            host,
            port: self.port.or(other.port),
            user: self.user.or(other.user),
            password: self.password.or(other.password),
            database: self.database.or(other.database),
            tls: self.tls.or(other.tls),
            tls_ca: self.tls_ca.or(other.tls_ca),
            tls_cert: self.tls_cert.or(other.tls_cert),
            tls_key: self.tls_key.or(other.tls_key),
            server_public_key: self.server_public_key.or(other.server_public_key),
            get_server_public_key: self.get_server_public_key.or(other.get_server_public_key),
            option_file: self.option_file.or(other.option_file),
            service: self.service.or(other.service),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_never_combined_from_two_sources() {
        let requested = Login { host: Some("db".into()), ..Login::default() };
        let file = Login {
            socket: Some("/run/s".into()),
            port: Some(3307),
            user: Some("me".into()),
            password: Some("hidden".into()),
            ..Login::default()
        };
        let all = requested.or(file);
        assert_eq!((all.socket, all.host.as_deref(), all.port), (None, Some("db"), Some(3307)));
        assert_eq!(all.password.as_deref(), Some("hidden"));
        let shown = format!("{:?}", Login { password: Some("hidden".into()), ..Login::default() });
        assert!(!shown.contains("hidden"), "{shown}");
    }
}
