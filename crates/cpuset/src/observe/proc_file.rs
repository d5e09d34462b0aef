//! Reading one file under /proc, in which a process that has ended differs from a file that cannot be read.

use super::error::ObserveError;
use procfs::{FromRead, ProcError};
use std::fs;
use std::io;

/// The text of a file under /proc. Names of threads and files stand in it as any user chose them, and the kernel cuts
/// names within a character: bytes that are no UTF-8 are replaced.
///
/// # Errors
/// What the system says.
pub fn proc_text(path: &str) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}

/// A file under /proc that procfs knows how to parse, read as [`proc_text`] reads it.
///
/// # Errors
/// When the process has ended, or the file cannot be read or has another form.
pub fn parse<T: FromRead>(path: &str) -> Result<T, ObserveError> {
    // Read first: an end of the thread between open and read is then seen as such.
    let text = proc_text(path).map_err(|e| ObserveError::of_io(path, &e))?;
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
