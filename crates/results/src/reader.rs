//! The way in for results: a results directory or a CSV file.

use super::{ReadError, Results, csv, directory};
use std::path::Path;

/// Reads a results directory or a CSV file, as data: no link inside is followed, and nothing is written.
///
/// # Errors
/// [`ReadError`] when it is missing, unreadable, malformed or of a newer schema. A damaged line of a file of records is
/// set aside: [`Results::damaged`].
pub fn open(path: &Path) -> Result<Results, ReadError> {
    let metadata = std::fs::metadata(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
    if metadata.is_dir() { directory::read(path) } else { csv::read(path) }
}
