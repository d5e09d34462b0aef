//! What can go wrong with the files of a results directory.

use super::limits::{LONGEST_LINE, MOST_CONDITIONS};
use std::io;
use std::path::{Path, PathBuf};
use tare_files::FilesError;
use thiserror::Error;

/// Why results could not be read. Every variant says where.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file system refused.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// File or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A link, a pipe or a file too large stands where a file of results belongs.
    #[error(transparent)]
    File(FilesError),
    /// A directory without `plan.json`.
    #[error("{} is not a results directory: it has no plan.json", path.display())]
    NotResults {
        /// The directory.
        path: PathBuf,
    },
    /// Results of another study among those that are made one.
    #[error("{} holds results of another study ({study}), or of the same with other settings", path.display())]
    OtherStudy {
        /// The directory.
        path: PathBuf,
        /// The name of its study.
        study: String,
    },
    /// More than tables and charts have rows for.
    #[error("{} holds {found} conditions: at most {MOST_CONDITIONS} are analysed together", path.display())]
    TooManyConditions {
        /// The directory or file.
        path: PathBuf,
        /// How many it holds.
        found: usize,
    },
    /// More than is held in memory together.
    #[error("{} holds more than {limit} {what}", path.display())]
    TooMany {
        /// The directory or file.
        path: PathBuf,
        /// What there is too much of, in the plural.
        what: &'static str,
        /// The most that is read.
        limit: usize,
    },
    /// Written by a newer tare.
    #[error("{} has schema {found}, this tare reads up to {known}", path.display())]
    NewerSchema {
        /// File that carries it.
        path: PathBuf,
        /// Schema in the file.
        found: u32,
        /// Newest schema this program reads.
        known: u32,
    },
    /// Content that is not what the format says.
    #[error("{what}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1: of the character in JSON, of the field in CSV.
        column: usize,
        /// What was found.
        what: String,
        /// What was expected there.
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

/// What can go wrong with a results directory.
#[derive(Debug, Error)]
pub enum DirectoryError {
    /// A file or folder could not be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was being done, for example "write".
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// `--out` names a place that already holds something.
    #[error("{} already exists and is not empty", .0.display())]
    NotEmpty(PathBuf),
    /// An earlier merge that has what its parts no longer have.
    #[error("{} has good results of {trials} trials that none of the folders to merge has", path.display())]
    WouldLose {
        /// The earlier merge.
        path: PathBuf,
        /// How many trials.
        trials: usize,
    },
    /// Another run works on it.
    #[error("another tare run is working on {}", .0.display())]
    Busy(PathBuf),
    /// It is not a results directory.
    #[error("{} is not a results directory: it has no {missing}", path.display())]
    NotResults {
        /// The folder.
        path: PathBuf,
        /// The file that is not there.
        missing: &'static str,
    },
    /// It cannot be read back.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A link, a pipe or another user's file stands where one of the run belongs.
    #[error(transparent)]
    File(FilesError),
    /// It could be written and never be read back.
    #[error(
        "the record of the trial is {bytes} bytes long, and at most {LONGEST_LINE} are read: take fewer samples a trial, and more trials"
    )]
    RecordTooLong {
        /// Its length, bytes.
        bytes: u64,
    },
    /// A name that cannot be part of a file's.
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

/// The system refused something that has to do with a file.
pub(crate) fn io_error(doing: &'static str, path: &Path, source: io::Error) -> DirectoryError {
    DirectoryError::Io { doing, path: path.to_owned(), source }
}
