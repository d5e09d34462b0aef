//! Where a server listens, and how a client reaches it.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use strum::{Display, EnumString, VariantNames};
use tare_text::UnknownWord;

/// How a client reaches the server. It changes results by 18 to 35% and is therefore never a silent default of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Display, EnumString, VariantNames)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownWord, parse_err_fn = unknown_transport)]
pub enum Transport {
    /// Unix socket in a directory of mode 0700; no network at all.
    #[default]
    Socket,
    /// TCP on 127.0.0.1, on a port that the kernel chose, with a random password.
    Tcp,
}

fn unknown_transport(found: &str) -> UnknownWord {
    UnknownWord::among(found, Transport::VARIANTS)
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// Unix socket.
    Socket(PathBuf),
    /// Host and port.
    Tcp(String, u16),
}

impl Address {
    /// Whether the server is on this machine, so that its threads are threads of this machine.
    pub fn is_here(&self) -> bool {
        match self {
            Self::Socket(_) => true,
            Self::Tcp(host, _) => {
                host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
            }
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => write!(f, "{}", path.display()),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
        }
    }
}

/// Whether a connection is encrypted, and what of the server's certificate is checked. Encryption costs CPU time on
/// both sides, so it is never a silent default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Display, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case", parse_err_ty = UnknownWord, parse_err_fn = unknown_tls)]
pub enum TlsMode {
    /// Never.
    #[default]
    Off,
    /// Where the server offers it; whoever it is.
    Preferred,
    /// Always; whoever the server is.
    Required,
    /// Always, and a believed authority must have signed the server's certificate.
    VerifyCa,
    /// The same, and the certificate must be for the host that was asked for.
    VerifyFull,
}

fn unknown_tls(found: &str) -> UnknownWord {
    UnknownWord::among(found, TlsMode::VARIANTS)
}

/// How connections are encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tls {
    /// Whether, and what is checked.
    pub mode: TlsMode,
    /// Certificates (PEM) of the authorities that are believed.
    pub ca: Option<PathBuf>,
}

/// A running server that this program did not start, or one that it did.
#[derive(Clone, PartialEq, Eq)]
pub struct ConnectTarget {
    /// Where the server listens for connections.
    pub address: Address,
    /// Account; the embedded engine ignores it.
    pub user: String,
    /// Password, empty for none.
    pub password: String,
    /// Database to start in; the embedded engine has only one and ignores it.
    pub database: Option<String>,
    /// Whether the connection is encrypted.
    pub tls: Tls,
}

impl fmt::Debug for ConnectTarget {
    // By hand, so that no log shows the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{} database {:?}", self.user, self.address, self.database)
    }
}
