//! What a client sends in place of its password, by method.

use sha1::Sha1;
use sha2::{Digest, Sha256};

pub(super) const NATIVE_PASSWORD: &str = "mysql_native_password";

pub(super) const CACHING_SHA2: &str = "caching_sha2_password";

/// `SHA1(password) XOR SHA1(nonce + SHA1(SHA1(password)))`; nothing for an empty password.
pub(super) fn scramble(password: &str, nonce: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha1::digest(password.as_bytes());
    let twice = Sha1::digest(once);
    let mixed = Sha1::new().chain_update(nonce).chain_update(twice).finalize();
    once.iter().zip(mixed).map(|(a, b)| a ^ b).collect()
}

/// `SHA256(password) XOR SHA256(SHA256(SHA256(password)) + nonce)`; nothing for an empty password.
pub(super) fn scramble_sha2(password: &str, nonce: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha256::digest(password.as_bytes());
    let twice = Sha256::digest(once);
    let mixed = Sha256::new().chain_update(twice).chain_update(nonce).finalize();
    once.iter().zip(mixed).map(|(a, b)| a ^ b).collect()
}
