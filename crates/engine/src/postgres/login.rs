//! Messages before the first statement: encryption if required, then authentication of both sides.

use super::message::{put, put_text};
use crate::transport::session::{lost, malformed};
use crate::transport::stream::Channel;
use crate::{ConnectTarget, SqlError, SqlErrorKind, TlsMode};
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use std::io;

/// SSLRequest: a message of eight bytes with the number 80877103 in place of a protocol version.
const REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// Encrypts if the target requires it; returns whether it did. PostgreSQL never encrypts Unix sockets.
pub(super) fn secure<S: Channel>(stream: &mut S, target: &ConnectTarget) -> Result<bool, SqlError> {
    let mode = target.tls.mode;
    if mode == TlsMode::Off || stream.is_private() {
        return Ok(false);
    }
    stream.write_all(&REQUEST).map_err(lost)?;
    // Read one byte only: everything after it must be encrypted.
    let mut answer = [0];
    stream.read_exact(&mut answer).map_err(lost)?;
    match (answer[0], mode) {
        (b'S', _) => stream.encrypt(&target.tls, target.host()).map(|()| true).map_err(lost),
        (b'N', TlsMode::Preferred) => Ok(false),
        (b'N', _) => {
            let message =
                format!("the server offers no TLS, and {mode} was requested: set ssl = on in the server, or tls = off");
            Err(SqlError::own(SqlErrorKind::Other, message))
        }
        _ => Err(malformed("an invalid answer to the request for TLS: check that it is PostgreSQL")),
    }
}

/// A refusal of an unencrypted connection may be due to the missing encryption: pg_hba.conf can have lines for
/// encrypted connections only, and the SQLSTATE for a client that matches no line is
/// invalid_authorization_specification.
#[cold]
pub(super) fn maybe_for_want_of_tls(mut error: SqlError) -> SqlError {
    if error.code.is_some_and(|code| code.is_state("28000")) {
        error.message.push_str(
            "; the connection was not encrypted, and pg_hba.conf may require encryption: request TLS (tls = \
             \"required\" or \
             stricter, or sslmode in your service)",
        );
    }
    error
}

/// How far both sides have authenticated themselves.
#[derive(Default)]
pub(super) struct Proof {
    /// SCRAM, once it has begun: then no other method is accepted, because SCRAM also authenticates the server.
    pub scram: Option<ScramSha256>,
    /// Whether the server has proved that it knows the password.
    pub is_server_proved: bool,
    pub is_let_in: bool,
}

/// Appends to `out` the answer to one authentication request of the server.
pub(super) fn authenticate(
    step: u32,
    rest: &[u8],
    user: &str,
    password: &str,
    is_private: bool,
    proof: &mut Proof,
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    let failed = |e: io::Error| SqlError::own(SqlErrorKind::Other, format!("logging in: {e}"));
    match (step, proof.scram.as_mut()) {
        (0, Some(_)) if !proof.is_server_proved => {
            let message = "the server accepted the login without proving that it knows the password, as scram-sha-256 \
                requires: it may be another server; check which process listens at this address, or request TLS with \
                verify-full";
            return Err(SqlError::own(SqlErrorKind::Other, message));
        }
        (0, _) => proof.is_let_in = true,
        // In clear text only where no one can eavesdrop.
        (3, None) if is_private => put(out, b'p', |out| put_text(out, password)),
        (10, None) if rest.split(|byte| *byte == 0).any(|method| method == SCRAM_SHA_256.as_bytes()) => {
            let new = proof.scram.insert(ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported()));
            put(out, b'p', |out| {
                put_text(out, SCRAM_SHA_256);
                out.extend_from_slice(&(new.message().len() as u32).to_be_bytes());
                out.extend_from_slice(new.message());
            });
        }
        (11, Some(scram)) => {
            scram.update(rest).map_err(failed)?;
            put(out, b'p', |out| out.extend_from_slice(scram.message()));
        }
        (12, Some(scram)) => {
            scram.finish(rest).map_err(failed)?;
            proof.is_server_proved = true;
        }
        (_, Some(_)) => return Err(malformed("another method of authentication after scram-sha-256 had begun")),
        _ => {
            let message = format!(
                "the account {user} needs a method of authentication (number {step}) that is not supported here; \
                 supported: trust, peer, scram-sha-256, and over a Unix socket or TLS password"
            );
            return Err(SqlError::own(SqlErrorKind::Other, message));
        }
    }
    Ok(())
}
