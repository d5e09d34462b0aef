//! Writes the HTML report of a results directory.

use super::html;
use std::path::{Path, PathBuf};
use tare_files::{FilesError, Folder};
use tare_results::Results;

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct WriteError(#[from] pub FilesError);

const REPORT: &str = "report.html";

/// Writes `report.html` from results that are already read, through the handle of their directory, and returns its
/// path.
pub fn write_report_in(folder: &Folder, results: &Results) -> Result<PathBuf, WriteError> {
    folder.write(REPORT, page(results).as_bytes())?;
    Ok(folder.path().join(REPORT))
}

pub fn write_report_to(results: &Results, path: &Path) -> Result<(), WriteError> {
    // Atomically, and without following links, because the directory may belong to another user.
    Ok(tare_files::write_named(results.audience, path, |file| file.write_all(page(results).as_bytes()))?)
}

fn page(results: &Results) -> String {
    html::render(results, &tare_findings::summarize(results))
}
