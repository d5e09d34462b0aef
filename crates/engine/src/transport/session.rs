//! Opening a session on a server, whatever the two speak.

use std::io;
use std::time::Instant;

use super::stream::Stream;
use crate::contract::session::{HANDSHAKE, SILENCE};
use crate::{ConnectTarget, EngineError, Session, SqlError};

/// Connects and logs in, both within [`HANDSHAKE`]; from then on the server may be silent for [`SILENCE`].
pub(crate) fn open<S: Session>(
    target: &ConnectTarget,
    log_in: impl FnOnce(Stream) -> Result<S, SqlError>,
) -> Result<S, EngineError> {
    let failed = |source| EngineError::Connect { address: target.address.to_string(), source };
    let unreached = |error: io::Error| EngineError::unreached(&target.address, &error);
    let stream = Stream::connect(&target.address, Instant::now() + HANDSHAKE).map_err(unreached)?;
    let mut session = log_in(stream).map_err(failed)?;
    session.set_timeout(Some(SILENCE)).map_err(failed)?;
    Ok(session)
}
