//! Where a server listens, and how a client reaches it.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use strum::{Display, EnumString, VariantNames};
use tare_text::UnknownWord;

/// How a client reaches the server. It changes results by 18 to 35% and is therefore never a silent default of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Display, EnumString, VariantNames)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownWord, parse_err_fn = UnknownWord::of::<Self>)]
pub enum Transport {
    /// Unix socket in a directory of mode 0700; no network at all.
    #[default]
    Socket,
    /// TCP on 127.0.0.1, on a port that the kernel chose, with a random password.
    Tcp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Socket(PathBuf),
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
#[strum(ascii_case_insensitive, parse_err_ty = UnknownWord, parse_err_fn = UnknownWord::of::<Self>)]
pub enum TlsMode {
    #[default]
    #[strum(to_string = "off", serialize = "disable", serialize = "disabled")]
    Off,
    /// Encrypted if the server offers it; the server is not authenticated. Also stands for PostgreSQL's `allow`,
    /// although libpq first tries without TLS there.
    #[strum(to_string = "preferred", serialize = "prefer", serialize = "allow")]
    Preferred,
    /// Always encrypted; the server is not authenticated.
    #[strum(to_string = "required", serialize = "require")]
    Required,
    /// Always encrypted, and a trusted authority must have signed the server's certificate.
    #[strum(to_string = "verify-ca", serialize = "verify_ca")]
    VerifyCa,
    /// Always encrypted, signed as for `verify-ca`, and the certificate must name the requested host.
    #[strum(to_string = "verify-full", serialize = "verify_full", serialize = "verify_identity")]
    VerifyFull,
}

/// How connections, and the passwords on them, are encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tls {
    pub mode: TlsMode,
    /// Certificates (PEM) of the trusted authorities; `None`: those of the system.
    pub ca: Option<PathBuf>,
    /// The client certificate, for servers that ask for one.
    pub identity: Option<TlsIdentity>,
    /// The key that encrypts a password on a connection without TLS, if the server needs the password itself.
    pub password_key: PasswordKey,
}

/// The server's RSA key, which encrypts a password on a connection without TLS. MySQL's `caching_sha2_password` needs
/// it while the server has not cached the password's hash.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PasswordKey {
    /// No key is known: a password is sent only over TLS or a Unix socket.
    #[default]
    None,
    File(PathBuf),
    /// This key (PEM), read over its Unix socket from a server that this program started.
    Pem(String),
    /// The key that the server sends. A host in between can send another one.
    OfServer,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsIdentity {
    /// The certificate and any intermediate certificates up to an authority (PEM).
    pub certificate: PathBuf,
    /// Its private key (PEM, without a passphrase), which other users must not be able to read.
    pub key: PathBuf,
}

/// How to connect to a server, whether or not this program started it.
#[derive(Clone, PartialEq, Eq)]
pub struct ConnectTarget {
    pub address: Address,
    /// Account; SQLite ignores it.
    pub user: String,
    pub password: String,
    /// Database to start in; SQLite has only one and ignores it.
    pub database: Option<String>,
    pub tls: Tls,
    /// The character set of the connection, on servers that convert text.
    pub charset: Charset,
}

impl ConnectTarget {
    /// A target without password and database.
    pub fn to(address: Address, user: &str) -> Self {
        let (password, database, tls, charset) = Default::default();
        Self { address, user: user.to_owned(), password, database, tls, charset }
    }

    /// Without a password: the directory of a private socket is closed to other users.
    pub(crate) fn private(socket: PathBuf, user: &str) -> Self {
        Self::to(Address::Socket(socket), user)
    }

    /// The name that the server's certificate must have if it is verified.
    pub(crate) fn host(&self) -> &str {
        match &self.address {
            Address::Socket(_) => "localhost",
            Address::Tcp(host, _) => host,
        }
    }
}

impl fmt::Debug for ConnectTarget {
    // By hand, so that no log shows the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{} database {:?}", self.user, self.address, self.database)
    }
}

/// The character set that a client of MariaDB or MySQL announces. The server converts where a table has another one:
/// a utf8mb4 connection to a latin1 table costs about 5% of the CPU time of a range query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Display, EnumString, VariantNames, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase", parse_err_ty = UnknownWord, parse_err_fn = UnknownWord::of::<Self>)]
pub enum Charset {
    /// The client announces none: the server uses its character_set_server.
    #[default]
    Server,
    /// UTF-8 of up to four bytes.
    Utf8mb4,
    /// UTF-8 of up to three bytes, which servers before MySQL 8.0 call utf8.
    Utf8mb3,
    /// cp1252, West European.
    Latin1,
    Ascii,
    /// Bytes without conversion.
    Binary,
}

impl Charset {
    /// The collation id in the client's first packet. With 0 the server uses its own default
    /// (`thd_init_client_charset` of MariaDB 10.11 and MySQL 8.0). Every version knows all of these ids.
    pub(crate) fn collation(self) -> u8 {
        match self {
            Self::Server => 0,
            Self::Utf8mb4 => 45,
            Self::Utf8mb3 => 33,
            Self::Latin1 => 8,
            Self::Ascii => 11,
            Self::Binary => 63,
        }
    }

    /// Whether `found`, the server's name of a character set, is this one.
    pub fn is(self, found: &str) -> bool {
        match self {
            Self::Server => true,
            Self::Utf8mb3 => ["utf8mb3", "utf8"].contains(&found),
            _ => self.to_string() == found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_known_by_the_words_of_both_servers() {
        for (words, mode) in [
            (["off", "DISABLED", "disable"], TlsMode::Off),
            (["preferred", "PREFERRED", "allow"], TlsMode::Preferred),
            (["required", "REQUIRED", "require"], TlsMode::Required),
            (["verify-ca", "VERIFY_CA", "Verify-CA"], TlsMode::VerifyCa),
            (["verify-full", "VERIFY_IDENTITY", "verify_full"], TlsMode::VerifyFull),
        ] {
            assert!(words.iter().all(|word| word.parse() == Ok(mode)), "{words:?}");
            assert_eq!(mode.to_string(), words[0], "studies are written in this form");
        }
        assert!("verify".parse::<TlsMode>().unwrap_err().to_string().contains("verify-ca"));
    }
}
