//! Authentication: everything between the client's answer to the greeting and the server's OK.
//!
//! `caching_sha2_password` has two paths. If the account has logged in before, the server has cached a hash of the
//! password, and the scramble is enough. Otherwise the server requires the password itself: in clear text over a Unix
//! socket or TLS, otherwise encrypted with the server's public key. That key must be known beforehand, because a host
//! in between could send a key of its own.

use super::bytes::Bytes;
use super::framing::{HEADER, Packets};
use super::greeting::{CACHING_SHA2, Greeting, NATIVE_PASSWORD, scramble, scramble_sha2};
use super::response;
use crate::transport::session::{lost, malformed};
use crate::transport::stream::Channel;
use crate::{Code, ConnectTarget, PasswordKey, SqlError, SqlErrorKind, TlsMode};
use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;
use std::fmt::Display;
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
    packets.send_reply(&mut greeting.tls_request(target)).map_err(lost)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sha2::{Digest, Sha256};

    proptest! {
        // The server checks SHA256(answer XOR SHA256(stored + nonce)) == stored; stored = SHA256(SHA256(password)).
        #[test]
        fn the_server_side_check_accepts_the_scramble(
            password in "[ -~]{1,40}", nonce in prop::array::uniform20(any::<u8>()),
        ) {
            let stored = Sha256::digest(Sha256::digest(password.as_bytes()));
            let mask = Sha256::new().chain_update(stored).chain_update(nonce).finalize();
            let once: Vec<u8> = scramble_sha2(&password, &nonce).iter().zip(mask).map(|(a, b)| a ^ b).collect();
            prop_assert_eq!(Sha256::digest(once), stored);
        }
    }
}
