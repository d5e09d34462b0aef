//! Results from wherever they are: a results directory or a CSV file, as one type.

use super::captures::Captures;
use super::lines::DamagedLine;
use super::schema::{Environment, Levels, Plan, TrialRecord};
use super::{csv, directory};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tare_files::FilesError;

/// Where results were read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A directory that `tare run` wrote.
    Directory,
    /// A CSV file with the columns condition,trial,sample,metric,value.
    Csv,
}

/// Everything that a finished or interrupted run left behind.
#[derive(Debug, Clone)]
pub struct Results {
    /// The directory or file they came from, as the caller named it.
    pub path: PathBuf,
    /// Whether a run's directory or a CSV file was read.
    pub source: Source,
    /// Name of the study; of the file, for a CSV.
    pub study: String,
    /// What was to be run; a CSV has none.
    pub plan: Option<Plan>,
    /// The machine as found; a CSV has none.
    pub environment: Option<Environment>,
    /// The resolved study as written; a CSV has none.
    pub study_toml: Option<String>,
    /// Every record of the plan's trials, in the order written, whatever its outcome; none twice.
    pub trials: Vec<TrialRecord>,
    /// What was captured beside the metrics, by trial and attempt; a CSV has none.
    pub captures: BTreeMap<(usize, u32), Captures>,
    /// Lines of the files of records that are no records; [`Results::warnings`] says so too.
    pub damaged: Vec<DamagedLine>,
    /// What was not quite right with the files, one sentence each.
    pub warnings: Vec<String>,
}

/// Why results could not be read. Every variant says where.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file system refused.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// File or directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
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

/// Reads a results directory or a CSV file, as data: no link inside is followed, and nothing is written.
///
/// # Errors
/// [`ReadError`] when it is missing, unreadable, malformed or of a newer schema. A damaged line of a file of records is
/// set aside: [`Results::damaged`].
pub fn open(path: &Path) -> Result<Results, ReadError> {
    let metadata = std::fs::metadata(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
    if metadata.is_dir() { directory::read(path) } else { csv::read(path) }
}

/// Reads `aslr=on ahi=off` as levels; empty when any word is not of that form.
pub fn levels_of(condition: &str) -> Levels {
    let mut levels = Levels::new();
    for word in condition.split_whitespace() {
        match word.split_once('=') {
            Some((factor, level)) if !factor.is_empty() && !level.is_empty() => {
                levels.insert(factor.to_owned(), level.to_owned());
            }
            _ => return Levels::new(),
        }
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_of_words_with_equal_signs_is_its_levels() {
        let levels = levels_of("aslr=on  ahi=off");
        assert_eq!(levels.get("aslr").map(String::as_str), Some("on"));
        assert_eq!(levels.get("ahi").map(String::as_str), Some("off"));
        assert!(levels_of("plain name").is_empty());
        assert!(levels_of("a=1 plain").is_empty());
        assert_eq!(levels_of("options=x=1").get("options").map(String::as_str), Some("x=1"));
    }
}
