//! Encrypting a connection between the server's greeting and our answer to it.

use super::framing::Packets;
use super::greeting::Greeting;
use crate::transport::session::lost;
use crate::transport::stream::Channel;
use crate::{Code, ConnectTarget, SqlError, SqlErrorKind, TlsMode};

/// Both servers' ways to refuse who should have come encrypted: ER_ACCESS_DENIED_ERROR for an account that REQUIREs it,
/// ER_SECURE_TRANSPORT_REQUIRED for everybody.
const REFUSALS: [Code; 2] = [Code::Number(1045), Code::Number(3159)];

/// Encrypts where the target wants it; whether it did.
pub(super) fn secure<S: Channel>(
    packets: &mut Packets<S>,
    greeting: &Greeting,
    target: &ConnectTarget,
) -> Result<bool, SqlError> {
    let mode = target.tls.mode;
    let is_wanted = match mode {
        TlsMode::Off => false,
        // No one listens inside the kernel.
        TlsMode::Preferred => !packets.stream().is_private() && greeting.offers_tls(),
        TlsMode::Required | TlsMode::VerifyCa | TlsMode::VerifyFull => true,
    };
    if !is_wanted {
        return Ok(false);
    }
    if !greeting.offers_tls() {
        let message =
            format!("the server offers no TLS, and {mode} was requested: give it a certificate, or tls = off");
        return Err(SqlError::own(SqlErrorKind::Other, message));
    }
    packets.send_reply(&mut greeting.tls_request(target)).map_err(lost)?;
    packets.encrypt(&target.tls, target.host()).map_err(lost)?;
    Ok(true)
}

/// A refusal of someone who came in clear to a server that can encrypt may be about that.
#[cold]
pub(super) fn maybe_for_want_of_tls(mut error: SqlError, greeting: &Greeting) -> SqlError {
    if error.code.is_some_and(|code| REFUSALS.contains(&code)) && greeting.offers_tls() {
        error.message.push_str(
            "; the connection was not encrypted, which this server or account may require: ask for TLS (tls = \
             \"required\" or stricter, or ssl-mode in your option file)",
        );
    }
    error
}
