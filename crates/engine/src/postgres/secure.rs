//! Encrypting a connection before anything else is said on it.

use crate::transport::session::{lost, malformed};
use crate::transport::stream::Channel;
use crate::{ConnectTarget, SqlError, SqlErrorKind, TlsMode};

/// A message of eight bytes with the number 80877103 where others have a version: "SSLRequest".
const REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// Encrypts where the target wants it; whether it did. On Unix sockets no PostgreSQL does, whatever is asked for.
pub(super) fn secure<S: Channel>(stream: &mut S, target: &ConnectTarget) -> Result<bool, SqlError> {
    let mode = target.tls.mode;
    if mode == TlsMode::Off || stream.is_private() {
        return Ok(false);
    }
    stream.write_all(&REQUEST).map_err(lost)?;
    // One byte and no more: what comes behind it must come encrypted.
    let mut answer = [0];
    stream.read_exact(&mut answer).map_err(lost)?;
    match (answer[0], mode) {
        (b'S', _) => stream.encrypt(&target.tls, target.host()).map(|()| true).map_err(lost),
        (b'N', TlsMode::Preferred) => Ok(false),
        (b'N', _) => {
            let message =
                format!("the server offers no TLS, and {mode} was requested: set ssl = on there, or tls = off");
            Err(SqlError::own(SqlErrorKind::Other, message))
        }
        _ => Err(malformed("neither yes nor no to a request for TLS: is this PostgreSQL?")),
    }
}

/// A refusal of a connection that was not encrypted may be about that: pg_hba.conf has lines for encrypted connections
/// alone, and the SQLSTATE of a client that no line lets in is invalid_authorization_specification.
#[cold]
pub(super) fn maybe_for_want_of_tls(mut error: SqlError) -> SqlError {
    if error.code.is_some_and(|code| code.is_state("28000")) {
        error.message.push_str(
            "; the connection was not encrypted, which pg_hba.conf may require: ask for TLS (tls = \"required\" or \
             stricter, or sslmode in your service)",
        );
    }
    error
}
