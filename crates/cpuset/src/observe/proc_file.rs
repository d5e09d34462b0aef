//! Reading one file under /proc, with "it has ended" told apart from "it cannot be read".

use super::error::ObserveError;
use procfs::{FromRead, ProcError};
use std::fs;
use std::io;

/// A file that procfs knows how to parse.
pub(super) fn parse<T: FromRead>(path: &str) -> Result<T, ObserveError> {
    // Read first: an end of the thread between open and read is then seen as such.
    let text = fs::read(path).map_err(|e| ObserveError::of_io(path, &e))?;
    T::from_read(io::Cursor::new(text)).map_err(|e| match e {
        ProcError::NotFound(_) => ObserveError::Gone { path: path.to_owned() },
        e => ObserveError::format(path, e),
    })
}

/// None for a file that this kernel does not offer. Whether the thread is there was seen from its other files.
pub(super) fn optional<T>(read: Result<T, ObserveError>) -> Result<Option<T>, ObserveError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(ObserveError::Gone { .. }) => Ok(None),
        Err(e) => Err(e),
    }
}
