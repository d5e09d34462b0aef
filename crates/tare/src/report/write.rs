//! Writes the HTML report of a results directory.

use super::html;
use crate::analysis;
use std::path::{Path, PathBuf};
use tare_results::{ReadError, Results};

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The results could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// The report file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Writes `report.html` into a results directory and returns its path.
///
/// # Errors
/// [`WriteError`] when the results cannot be read or the file not written.
pub fn write_report(results_dir: &Path) -> Result<PathBuf, WriteError> {
    let path = results_dir.join("report.html");
    write_report_to(&tare_results::open(results_dir)?, &path)?;
    Ok(path)
}

/// Writes the report of results that are already read to a path of the caller's choice.
///
/// # Errors
/// [`WriteError::Io`].
pub fn write_report_to(results: &Results, path: &Path) -> Result<(), WriteError> {
    let text = html::render(results, &analysis::summarize(results));
    // Written beside and renamed: a full disk never leaves half a report in place of an older whole one.
    let part = path.with_extension("html.part");
    let written = std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, path));
    written.map_err(|source| {
        // The part may not exist; the error that matters is the first one.
        let _ = std::fs::remove_file(&part);
        WriteError::Io { path: path.to_owned(), source }
    })
}
