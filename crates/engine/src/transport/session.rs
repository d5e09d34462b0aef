//! Opens a session on a server, whatever the protocol, and the errors of a lost session.

use super::stream::{Stream, lost_words};
use crate::contract::session::{HANDSHAKE, SILENCE};
use crate::{ConnectTarget, EngineError, Session, SqlError, SqlErrorKind};
use std::io;
use std::time::Instant;

/// The connection is lost, or could not be opened.
#[cold]
pub(crate) fn lost(error: io::Error) -> SqlError {
    SqlError::own(SqlErrorKind::Lost, lost_words(&error))
}

/// The stream is out of step: the connection cannot be used any more.
#[cold]
pub(crate) fn malformed(what: &str) -> SqlError {
    SqlError::own(SqlErrorKind::Lost, format!("the server sent {what}"))
}

/// Connects and logs in, both within [`HANDSHAKE`]; from then on the server may be silent for [`SILENCE`].
pub(crate) fn open<S: Session>(
    target: &ConnectTarget,
    log_in: impl FnOnce(Stream) -> Result<S, SqlError>,
) -> Result<S, EngineError> {
    let failed = |source| EngineError::Connect { address: target.address.to_string(), source };
    let unreached = |error: io::Error| EngineError::unreached(&target.address, error);
    let stream = Stream::connect(&target.address, Instant::now() + HANDSHAKE).map_err(unreached)?;
    let mut session = log_in(stream).map_err(failed)?;
    session.set_timeout(Some(SILENCE)).map_err(failed)?;
    Ok(session)
}
