//! Errors of reading and writing a results directory.

use super::limits::{LONGEST_LINE, MOST_CONDITIONS, OutOfRange};
use std::io;
use std::path::{Path, PathBuf};
use tare_files::FilesError;
use tare_text::count;
use thiserror::Error;

/// Why results could not be read. Every variant contains the location.
#[derive(Debug, Error)]
pub enum ReadError {
    #[error("cannot read {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// A link, a pipe or an oversized file in place of a file of results.
    #[error(transparent)]
    File(FilesError),
    #[error("{} is not a results directory: it has no plan.json", path.display())]
    NotResults { path: PathBuf },
    #[error("{} has records, but no plan.json", path.display())]
    NoPlan { path: PathBuf },
    #[error("{} holds results of another study ({study}), or of the same with other settings", path.display())]
    OtherStudy { path: PathBuf, study: String },
    #[error("{} holds {found} conditions: at most {MOST_CONDITIONS} are analysed together", path.display())]
    TooManyConditions { path: PathBuf, found: usize },
    #[error("{} holds more than {limit} {what}", path.display())]
    TooMany {
        path: PathBuf,
        /// What there is too much of (a plural noun).
        what: &'static str,
        limit: usize,
    },
    #[error("{}: {out_of_range}", path.display())]
    OutOfRange { path: PathBuf, out_of_range: OutOfRange },
    #[error("{} has schema {found}, this tare reads up to {known}", path.display())]
    NewerSchema { path: PathBuf, found: u32, known: u32 },
    #[error("{what}")]
    Malformed {
        path: PathBuf,
        line: usize,
        /// Column, from 1: of the character in JSON, of the field in CSV.
        column: usize,
        what: String,
        expected: String,
    },
}

impl From<FilesError> for ReadError {
    fn from(error: FilesError) -> Self {
        match error {
            FilesError::Io { path, source, .. } => Self::Io { path, source },
            other => Self::File(other),
        }
    }
}

#[derive(Debug, Error)]
pub enum DirectoryError {
    #[error("cannot {doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("{} already exists and is not empty", .0.display())]
    NotEmpty(PathBuf),
    #[error("{} has good results of {} that none of the folders to merge has", path.display(), count(*trials, "trial"))]
    WouldLose { path: PathBuf, trials: usize },
    #[error("another tare run is working on {}", .0.display())]
    Busy(PathBuf),
    #[error("{} is not a results directory: it has no {missing}", path.display())]
    NotResults { path: PathBuf, missing: &'static str },
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A link, a pipe or another user's file in place of a file of the run.
    #[error(transparent)]
    File(FilesError),
    #[error(
        "the record of the trial is {bytes} bytes long, and at most {LONGEST_LINE} are read: take fewer samples per \
         trial, and more trials"
    )]
    RecordTooLong { bytes: u64 },
    /// A list that was to be written is too long to be read back.
    #[error("{} would be refused when it is read: {out_of_range}", path.display())]
    OutOfRange { path: PathBuf, out_of_range: OutOfRange },
    #[error("{0:?} cannot name a writer: expected up to 100 letters, digits, dots, hyphens and underscores")]
    BadWriter(String),
}

impl From<FilesError> for DirectoryError {
    fn from(error: FilesError) -> Self {
        match error {
            FilesError::Io { doing, path, source } => Self::Io { doing, path, source },
            other => Self::File(other),
        }
    }
}

/// The system refused an operation on a file.
pub(crate) fn io_error(doing: &'static str, path: &Path, source: io::Error) -> DirectoryError {
    DirectoryError::Io { doing, path: path.to_owned(), source }
}
