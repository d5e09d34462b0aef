//! The first packets of a connection: the server's greeting, the client's answer, the password, and everything up to
//! the server's OK.
//!
//! `caching_sha2_password` has two paths. If the account has logged in before, the server has cached a hash of the
//! password, and the scramble is enough. Otherwise the server requires the password itself: in clear text over a Unix
//! socket or TLS, otherwise encrypted with the server's public key. That key must be known beforehand, because a host
//! in between could send a key of its own.

use super::framing::{Bytes, HEADER, Packets, put_length};
use super::response;
use crate::transport::session::{lost, malformed};
use crate::transport::stream::Channel;
use crate::{Code, ConnectTarget, PasswordKey, SqlError, SqlErrorKind, TlsMode};
use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::fmt::Display;
use std::io;
use std::path::Path;
use tare_files::read_named_file;

/// Limit on the packets of a login: a method switch, a status, a key, an end.
const STEPS: usize = 8;

/// The server's intermediate answers in `caching_sha2_password`.
const FAST_IS_ENOUGH: u8 = 3;
const PASSWORD_IS_NEEDED: u8 = 4;
const WANT_KEY: u8 = 2;

/// The source of a key that is not from a file.
const SERVER: &str = "the server";
/// Limit on the size of a file with a key, bytes.
const KEY_FILE: u64 = 64 << 10;

pub(super) fn authenticate<S: Channel>(
    packets: &mut Packets<S>,
    target: &ConnectTarget,
    nonce: &[u8],
) -> Result<(), SqlError> {
    let password = target.password.as_str();
    let (mut nonce, mut is_key_awaited) = (nonce.to_vec(), false);
    for _ in 0..STEPS {
        let is_private = packets.stream().is_private();
        let payload = packets.receive().map_err(lost)?;
        let reply = match payload {
            [0x00, ..] => return Ok(()),
            [0xff, ..] => return Err(response::error(payload)),
            [0xfe, rest @ ..] => {
                let mut bytes = Bytes(rest);
                let method = bytes.until_nul().unwrap_or("an unnamed method").to_owned();
                nonce = bytes.0.strip_suffix(&[0]).unwrap_or(bytes.0).to_vec();
                match method.as_str() {
                    NATIVE_PASSWORD => scramble(password, &nonce),
                    CACHING_SHA2 => scramble_sha2(password, &nonce),
                    _ => return Err(unsupported(&method)),
                }
            }
            [0x01, FAST_IS_ENOUGH] => continue,
            [0x01, PASSWORD_IS_NEEDED] if is_private => with_nul(password),
            [0x01, PASSWORD_IS_NEEDED] => match &target.tls.password_key {
                PasswordKey::None => return Err(kept_secret()),
                PasswordKey::File(path) => encrypted(password, &nonce, &of_file(path)?, path.display())?,
                PasswordKey::Pem(key) => encrypted(password, &nonce, key.as_bytes(), SERVER)?,
                PasswordKey::OfServer => {
                    is_key_awaited = true;
                    vec![WANT_KEY]
                }
            },
            [0x01, key @ ..] if is_key_awaited => {
                is_key_awaited = false;
                encrypted(password, &nonce, key, SERVER)?
            }
            _ => return Err(malformed("an authentication step that is not known")),
        };
        let mut packet = vec![0; HEADER];
        packet.extend_from_slice(&reply);
        packets.send_reply(&mut packet).map_err(lost)?;
    }
    Err(malformed("authentication steps without end"))
}

fn with_nul(password: &str) -> Vec<u8> {
    [password.as_bytes(), &[0]].concat()
}

/// The password, mixed with the nonce, encrypted so that only the owner of the key can read it.
fn encrypted(password: &str, nonce: &[u8], key: &[u8], source: impl Display) -> Result<Vec<u8>, SqlError> {
    let no_key =
        || SqlError::own(SqlErrorKind::Other, format!("{source} gave no RSA public key of 2048 to 8192 bits as PEM"));
    let key =
        SubjectPublicKeyInfoDer::from_pem_slice(key).ok().and_then(|key| PublicEncryptingKey::from_der(&key).ok());
    let key = key.and_then(|key| OaepPublicEncryptingKey::new(key).ok());
    let key = key.ok_or_else(no_key)?;
    let mixed: Vec<u8> = with_nul(password).iter().zip(nonce.iter().cycle()).map(|(a, b)| a ^ b).collect();
    let mut sealed = vec![0; key.ciphertext_size()];
    let length = key.encrypt(&OAEP_SHA1_MGF1SHA1, &mixed, &mut sealed, None).map(|sealed| sealed.len());
    let length = length.map_err(|_| {
        let most = key.max_plaintext_size(&OAEP_SHA1_MGF1SHA1).saturating_sub(1);
        let message =
            format!("the password is too long for the server's public key, which encrypts at most {most} bytes");
        SqlError::own(SqlErrorKind::Other, message)
    })?;
    sealed.truncate(length);
    Ok(sealed)
}

/// The key in a file given by the user.
fn of_file(path: &Path) -> Result<Vec<u8>, SqlError> {
    let wrong = |e| SqlError::own(SqlErrorKind::Other, format!("server_public_key (server-public-key-path): {e}"));
    read_named_file(path, KEY_FILE).map_err(wrong)
}

/// Corresponds to the error of MySQL's own client: "Authentication requires secure connection".
#[cold]
fn kept_secret() -> SqlError {
    let message = "the server requests the password in clear text, and the connection is not encrypted: any server \
                   that answers could read it, so it was not sent. Request TLS (tls = \"required\" in a study, tare \
                   load --tls required, ssl-mode in an option file), use the Unix socket, give the server's public \
                   key (server_public_key, server-public-key-path: public_key.pem of its data directory), or, on a \
                   trusted network, let the server send its key (get_server_public_key, get-server-public-key)";
    SqlError::own(SqlErrorKind::Other, message)
}

fn unsupported(method: &str) -> SqlError {
    let message = format!(
        "the account needs authentication by {method}; supported: {NATIVE_PASSWORD}, {CACHING_SHA2}: use another account"
    );
    SqlError::own(SqlErrorKind::Other, message)
}

/// Errors with which both servers refuse unencrypted clients: ER_ACCESS_DENIED_ERROR for an account with REQUIRE,
/// ER_SECURE_TRANSPORT_REQUIRED for every account.
const REFUSALS: [Code; 2] = [Code::Number(1045), Code::Number(3159)];

/// Encrypts if the target requires it; returns whether it did.
pub(super) fn secure<S: Channel>(
    packets: &mut Packets<S>,
    greeting: &Greeting,
    target: &ConnectTarget,
) -> Result<bool, SqlError> {
    let mode = target.tls.mode;
    let is_wanted = match mode {
        TlsMode::Off => false,
        // A private connection stays inside the kernel, where no one can eavesdrop.
        TlsMode::Preferred => !packets.stream().is_private() && greeting.offers_tls(),
        TlsMode::Required | TlsMode::VerifyCa | TlsMode::VerifyFull => true,
    };
    if !is_wanted {
        return Ok(false);
    }
    if !greeting.offers_tls() {
        let message = format!(
            "the server offers no TLS, and {mode} was requested: configure a certificate in the server, or \
                set tls = off"
        );
        return Err(SqlError::own(SqlErrorKind::Other, message));
    }
    // The beginning of the answer, which is sent again in full after encryption has started.
    packets.send_reply(&mut greeting.opening(target, true)).map_err(lost)?;
    packets.encrypt(&target.tls, target.host()).map_err(lost)?;
    Ok(true)
}

/// A server that supports TLS may have refused a client because its connection was not encrypted.
#[cold]
pub(super) fn maybe_for_want_of_tls(mut error: SqlError, greeting: &Greeting) -> SqlError {
    if error.code.is_some_and(|code| REFUSALS.contains(&code)) && greeting.offers_tls() {
        error.message.push_str(
            "; the connection was not encrypted, and this server or account may require encryption: request TLS (tls = \
             \"required\" or stricter, or ssl-mode in your option file)",
        );
    }
    error
}

const CLIENT_MYSQL: u32 = 1;
/// An UPDATE counts the rows that it found, as in every other engine, and not only those that it changed: a load with
/// the same seed writes the same values again.
const FOUND_ROWS: u32 = 1 << 1;
const LONG_FLAG: u32 = 1 << 2;
const CONNECT_WITH_DB: u32 = 1 << 3;
/// LOAD DATA LOCAL. A server that requests a file of this machine gets none: see `local`.
const LOCAL_FILES: u32 = 1 << 7;
const PROTOCOL_41: u32 = 1 << 9;
const SSL: u32 = 1 << 11;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const MULTI_RESULTS: u32 = 1 << 17;
const PS_MULTI_RESULTS: u32 = 1 << 18;
const PLUGIN_AUTH: u32 = 1 << 19;
const DEPRECATE_EOF: u32 = 1 << 24;
/// Capabilities that a server must have: every MariaDB since 10.2 and MySQL since 5.7.5 has them.
const NEEDED: u32 = PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH | DEPRECATE_EOF;
/// MariaDB's extended capability 4: column metadata of a prepared statement is sent again only if it changed.
const CACHE_METADATA: u32 = 1 << 4;
/// What the user can check if another program seems to listen at the address.
const CHECK: &str = "check that it is MariaDB or MySQL";

/// The error if no greeting arrives, as from PostgreSQL, which waits for the client's first message.
#[cold]
pub(super) fn no_greeting(error: io::Error) -> SqlError {
    let mut error = lost(error);
    error.message.push_str(&format!(": {CHECK}"));
    error
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Greeting {
    pub version: String,
    capabilities: u32,
    extended: u32,
    nonce: Vec<u8>,
    /// Whether the server's default authentication method is caching_sha2_password.
    prefers_sha2: bool,
}

impl Greeting {
    /// Parses protocol version 10; an error in words if the packet is invalid.
    pub(super) fn parse(payload: &[u8]) -> Result<Self, String> {
        let mut bytes = Bytes(payload);
        match bytes.u8() {
            Some(10) => {}
            Some(other) => return Err(format!("protocol version {other}, expected 10: {CHECK}")),
            None => return Err("an empty greeting".to_owned()),
        }
        let greeting = Self::body(&mut bytes).ok_or("a greeting that is cut short")?;
        if greeting.capabilities & NEEDED != NEEDED {
            return Err(format!("server {} is too old: expected MariaDB 10.2 or MySQL 5.7 or newer", greeting.version));
        }
        Ok(greeting)
    }

    fn body(bytes: &mut Bytes<'_>) -> Option<Self> {
        let version = bytes.until_nul()?.to_owned();
        bytes.u32()?; // connection id
        let mut nonce = bytes.take(8)?.to_vec();
        bytes.take(1)?;
        let low = bytes.u16()?;
        bytes.take(3)?; // collation and status
        let high = bytes.u16()?;
        let nonce_length = usize::from(bytes.u8()?);
        bytes.take(6)?;
        let extended = bytes.u32()?;
        // At least 12 bytes and a NUL, whatever the length says.
        let rest = bytes.take(nonce_length.saturating_sub(9).max(12))?;
        nonce.extend_from_slice(rest);
        nonce.truncate(20);
        let prefers_sha2 = bytes.until_nul() == Some(CACHING_SHA2);
        let capabilities = u32::from(low) | u32::from(high) << 16;
        // Only MariaDB leaves the first bit unset, and only it uses the reserved bytes.
        let extended = if capabilities & CLIENT_MYSQL == 0 { extended } else { 0 };
        Some(Self { version, capabilities, extended, nonce, prefers_sha2 })
    }

    /// The server's random bytes for this login.
    pub(super) fn nonce(&self) -> &[u8] {
        &self.nonce
    }

    /// Whether results of prepared statements omit column definitions that the client already knows.
    pub(super) fn caches_metadata(&self) -> bool {
        self.extended & CACHE_METADATA != 0
    }

    fn offers_tls(&self) -> bool {
        self.capabilities & SSL != 0
    }

    /// The answer: user, capabilities, scrambled password. Begins with space for the header.
    pub(super) fn answer(&self, target: &ConnectTarget, encrypted: bool) -> Vec<u8> {
        let mut out = self.opening(target, encrypted);
        let (user, password, database) = (&target.user, &target.password, target.database.as_deref());
        out.extend_from_slice(user.as_bytes());
        out.push(0);
        let (method, scrambled) = match self.prefers_sha2 {
            true => (CACHING_SHA2, scramble_sha2(password, &self.nonce)),
            false => (NATIVE_PASSWORD, scramble(password, &self.nonce)),
        };
        put_length(&mut out, scrambled.len() as u64);
        out.extend_from_slice(&scrambled);
        for text in [database, Some(method)].into_iter().flatten() {
            out.extend_from_slice(text.as_bytes());
            out.push(0);
        }
        out
    }

    /// The common beginning of both packets: space for the header, capabilities, largest packet, character set.
    fn opening(&self, target: &ConnectTarget, encrypted: bool) -> Vec<u8> {
        let mut flags = NEEDED | FOUND_ROWS | LONG_FLAG | TRANSACTIONS | MULTI_RESULTS | PS_MULTI_RESULTS | LOCAL_FILES;
        flags |= if target.database.is_some() { CONNECT_WITH_DB } else { 0 };
        flags |= if encrypted { SSL } else { 0 };
        flags |= self.capabilities & CLIENT_MYSQL;
        let mut out = vec![0; HEADER];
        out.extend_from_slice(&flags.to_le_bytes());
        out.extend_from_slice(&(64u32 << 20).to_le_bytes());
        out.push(target.charset.collation());
        out.extend_from_slice(&[0; 19]);
        out.extend_from_slice(&(self.extended & CACHE_METADATA).to_le_bytes());
        out
    }
}

const NATIVE_PASSWORD: &str = "mysql_native_password";

const CACHING_SHA2: &str = "caching_sha2_password";

/// `SHA1(password) XOR SHA1(nonce + SHA1(SHA1(password)))`; empty for an empty password.
fn scramble(password: &str, nonce: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha1::digest(password.as_bytes());
    let twice = Sha1::digest(once);
    let mixed = Sha1::new().chain_update(nonce).chain_update(twice).finalize();
    once.iter().zip(mixed).map(|(a, b)| a ^ b).collect()
}

/// `SHA256(password) XOR SHA256(SHA256(SHA256(password)) + nonce)`; empty for an empty password.
fn scramble_sha2(password: &str, nonce: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha256::digest(password.as_bytes());
    let twice = Sha256::digest(once);
    let mixed = Sha256::new().chain_update(twice).chain_update(nonce).finalize();
    once.iter().zip(mixed).map(|(a, b)| a ^ b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sha1::Digest;

    proptest! {
        // The server checks SHA256(answer XOR SHA256(stored + nonce)) == stored; stored = SHA256(SHA256(password)).
        #[test]
        fn the_server_side_check_accepts_the_scramble_of_sha2(
            password in "[ -~]{1,40}", nonce in prop::array::uniform20(any::<u8>()),
        ) {
            let stored = Sha256::digest(Sha256::digest(password.as_bytes()));
            let mask = Sha256::new().chain_update(stored).chain_update(nonce).finalize();
            let once: Vec<u8> = scramble_sha2(&password, &nonce).iter().zip(mask).map(|(a, b)| a ^ b).collect();
            prop_assert_eq!(Sha256::digest(once), stored);
        }
    }

    #[test]
    fn an_answer_that_is_no_server_greeting_is_refused() {
        assert_eq!(
            Greeting::parse(b"HTTP/1.1 400").unwrap_err(),
            "protocol version 72, expected 10: check that it is MariaDB or MySQL"
        );
        assert!(Greeting::parse(&[10, b'5', 0, 1]).unwrap_err().contains("cut short"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_greeting_or_an_error(mut bytes in prop::collection::vec(any::<u8>(), 0..120), v10: bool) {
            if v10 && !bytes.is_empty() {
                bytes[0] = 10;
            }
            let _ = Greeting::parse(&bytes);
        }

        // The server checks SHA1(answer XOR SHA1(nonce + stored)) == stored, where stored = SHA1(SHA1(password)).
        #[test]
        fn the_server_side_check_accepts_the_scramble(password in "[ -~]{1,40}", nonce in prop::array::uniform20(any::<u8>())) {
            let stored = Sha1::digest(Sha1::digest(password.as_bytes()));
            let mask = Sha1::new().chain_update(nonce).chain_update(stored).finalize();
            let once: Vec<u8> = scramble(&password, &nonce).iter().zip(mask).map(|(a, b)| a ^ b).collect();
            prop_assert_eq!(Sha1::digest(once), stored);
        }
    }
}
