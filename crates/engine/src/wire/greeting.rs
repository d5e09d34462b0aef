//! The first packets of a connection: the server's greeting, the client's answer, the password.

use super::bytes::{Bytes, put_length};
use super::framing::HEADER;
use crate::transport::session::lost;
use crate::{ConnectTarget, SqlError};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::io;

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

    pub(super) fn offers_tls(&self) -> bool {
        self.capabilities & SSL != 0
    }

    /// The SSL request: the beginning of the answer, which is sent again in full after encryption has started.
    pub(super) fn tls_request(&self, target: &ConnectTarget) -> Vec<u8> {
        self.opening(target, true)
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

pub(super) const NATIVE_PASSWORD: &str = "mysql_native_password";

pub(super) const CACHING_SHA2: &str = "caching_sha2_password";

/// `SHA1(password) XOR SHA1(nonce + SHA1(SHA1(password)))`; empty for an empty password.
pub(super) fn scramble(password: &str, nonce: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha1::digest(password.as_bytes());
    let twice = Sha1::digest(once);
    let mixed = Sha1::new().chain_update(nonce).chain_update(twice).finalize();
    once.iter().zip(mixed).map(|(a, b)| a ^ b).collect()
}

/// `SHA256(password) XOR SHA256(SHA256(SHA256(password)) + nonce)`; empty for an empty password.
pub(super) fn scramble_sha2(password: &str, nonce: &[u8]) -> Vec<u8> {
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
    use sha1::{Digest, Sha1};

    use super::*;
    use proptest::prelude::*;

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
