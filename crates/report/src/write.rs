//! Writes the HTML report of a results directory.

use super::html;
use std::path::{Path, PathBuf};
use tare_files::FilesError;
use tare_results::{ReadError, Results};

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The results could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file could not be written.
    #[error(transparent)]
    File(#[from] FilesError),
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
pub fn write_report_to(results: &Results, path: &Path) -> Result<(), WriteError> {
    let text = html::render(results, &tare_findings::summarize(results));
    // Whole or not at all, and through no link: the directory may be anybody's.
    Ok(tare_files::write_whole(path, text.as_bytes())?)
}
