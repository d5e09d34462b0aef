//! The resolved study of a results directory, read back.

use super::document::{Source, StudyError};
use super::parse::{Overrides, parse};
use super::spec::Study;
use std::path::Path;
use tare_results::store::{DirectoryError, read_study_text};
use thiserror::Error;

/// Why the study of a results directory cannot be used.
#[derive(Debug, Error)]
pub enum WrittenStudyError {
    /// The file cannot be read.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The study that the run wrote does not parse.
    #[error(transparent)]
    Study(#[from] StudyError),
}

/// Reads the resolved study that a run wrote.
///
/// # Errors
/// When the file cannot be read or does not parse.
pub fn read_study(directory: &Path) -> Result<Study, WrittenStudyError> {
    let text = read_study_text(directory)?;
    Ok(parse(
        Source { origin: &directory.join("study.toml").display().to_string(), text: &text },
        &Overrides::default(),
    )?)
}
