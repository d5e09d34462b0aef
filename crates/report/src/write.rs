//! Writes the HTML report of a results directory.

use super::html;
use std::path::{Path, PathBuf};
use tare_files::{FilesError, Folder, Trust};
use tare_results::{ReadError, Results};

#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    File(#[from] FilesError),
}

/// Its name in a results directory.
const REPORT: &str = "report.html";

/// Writes `report.html` into a results directory and returns its path.
pub fn write_report(results_dir: &Path) -> Result<PathBuf, WriteError> {
    let missing = || ReadError::NotResults { path: results_dir.to_owned() };
    let folder = Folder::open(results_dir, Trust::Anyone)?.ok_or_else(missing)?;
    write_report_in(&folder, &tare_results::open_folder(&folder)?)
}

/// Writes `report.html` of results that are already read, through the handle of their directory, and returns its path.
///
/// # Errors
/// [`WriteError::File`] when it cannot be written.
pub fn write_report_in(folder: &Folder, results: &Results) -> Result<PathBuf, WriteError> {
    folder.write(REPORT, page(results).as_bytes())?;
    Ok(folder.path().join(REPORT))
}

/// Writes the report of results that are already read to a path of the caller's choice.
pub fn write_report_to(results: &Results, path: &Path) -> Result<(), WriteError> {
    // Whole or not at all, and through no link: the directory may be another user's.
    Ok(tare_files::write_named(results.audience, path, |file| file.write_all(page(results).as_bytes()))?)
}

fn page(results: &Results) -> String {
    html::render(results, &tare_findings::summarize(results))
}
