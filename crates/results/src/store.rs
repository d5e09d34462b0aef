//! Writing a results directory: created once, locked while a run owns it. Its records: `append`.

use super::directory;
use super::error::io_error;
use super::lines::{self, DamagedLine};
use super::schema::{Environment, Plan, TrialRecord};
use serde::Serialize;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use tare_files::crash;

pub use super::append::{Writer, append_trial, append_trial_of};
pub use super::error::DirectoryError;

/// The largest study that is read, bytes.
const LARGEST_STUDY: u64 = 16 << 20;

/// A results directory that is open for writing; the lock goes with it.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    _lock: File,
}

impl Directory {
    /// Makes a new one at `path` and takes its lock.
    ///
    /// # Errors
    /// When `path` holds something already or cannot be written.
    pub fn create(path: &Path) -> Result<Self, DirectoryError> {
        crash::point("results: before their directory is made");
        fs::create_dir_all(path.join("logs")).map_err(|e| io_error("create", path, e))?;
        crash::point("results: their directory is made");
        Self::create_empty(path)
    }

    /// Makes the directory without a folder for logs.
    pub(crate) fn create_empty(path: &Path) -> Result<Self, DirectoryError> {
        fs::create_dir_all(path).map_err(|e| io_error("create", path, e))?;
        let occupied = fs::read_dir(path)
            .map_err(|e| io_error("read", path, e))?
            .filter_map(Result::ok)
            .any(|entry| entry.file_name() != "logs" && entry.file_name() != ".lock");
        if occupied {
            return Err(DirectoryError::NotEmpty(path.to_owned()));
        }
        Self::lock(path)
    }

    /// Opens an existing one to go on with it. Whose it is was asked before: what it holds is executed.
    ///
    /// # Errors
    /// When it is no results directory, is of a newer schema, or another run works on it.
    pub fn resume(path: &Path) -> Result<Self, DirectoryError> {
        for missing in ["study.toml", "plan.json"] {
            match fs::metadata(path.join(missing)) {
                Ok(file) if file.is_file() => {}
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(io_error("read", path, e)),
                _ => return Err(DirectoryError::NotResults { path: path.to_owned(), missing }),
            }
        }
        Self::lock(path)
    }

    pub(crate) fn lock(path: &Path) -> Result<Self, DirectoryError> {
        let file_path = path.join(".lock");
        let file = tare_files::open_append(&file_path)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: file }),
            Err(TryLockError::WouldBlock) => Err(DirectoryError::Busy(path.to_owned())),
            Err(TryLockError::Error(e)) => Err(io_error("lock", &file_path, e)),
        }
    }

    /// Where it lies, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes one document below it, whole or not at all.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), DirectoryError> {
        write_document(&self.path.join(name), text)
    }

    /// Writes the three documents of a fresh run.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn begin(&self, study_toml: &str, plan: &Plan, environment: &Environment) -> Result<(), DirectoryError> {
        self.write("environment.json", &pretty(environment))?;
        self.write("study.toml", study_toml)?;
        crash::point("results: before the plan");
        // Last: a directory with a plan is one that can be resumed.
        write_plan(&self.path, plan)
    }
}

/// Reads `plan.json` alone, without the records.
///
/// # Errors
/// When it is missing, newer or malformed.
pub fn read_plan(directory: &Path) -> Result<Plan, DirectoryError> {
    Ok(directory::read_plan(directory)?)
}

/// Writes `plan.json` anew: with a decision, and never with fewer trials.
///
/// # Errors
/// When the file cannot be written, or could not be read back.
pub fn write_plan(directory: &Path, plan: &Plan) -> Result<(), DirectoryError> {
    let (path, text) = (directory.join("plan.json"), pretty(plan));
    if text.len() as u64 > directory::LARGEST_PLAN {
        return Err(tare_files::FilesError::TooLarge { path, limit: directory::LARGEST_PLAN }.into());
    }
    write_document(&path, &text)
}

/// The records of all writers, those of the local run first; none when there is no such file yet. Damaged lines and
/// records that are there twice are left out: see [`read_trials_and_damage`].
///
/// # Errors
/// When a file cannot be read or a line is newer.
pub fn read_trials(directory: &Path) -> Result<Vec<TrialRecord>, DirectoryError> {
    Ok(read_trials_and_damage(directory)?.0)
}

/// Reads trials, and the lines that are no records.
///
/// # Errors
/// As [`read_trials`].
pub fn read_trials_and_damage(directory: &Path) -> Result<(Vec<TrialRecord>, Vec<DamagedLine>), DirectoryError> {
    let records = lines::read(directory)?;
    Ok((lines::without_strangers(records.trials, None).0, records.damaged))
}

/// Where the next record of the local run will begin in `trials.jsonl`, bytes.
///
/// # Errors
/// When the file cannot be looked at.
pub fn end_of_trials(directory: &Path) -> Result<u64, DirectoryError> {
    let path = directory.join("trials.jsonl");
    let file = tare_files::open_regular(&path)?;
    let length = file.map(|file| file.metadata()).transpose().map_err(|e| io_error("read", &path, e))?;
    Ok(length.map_or(0, |file| file.len()))
}

/// The local run's records from byte `from` on, as [`end_of_trials`] told it before they were appended. Damaged lines
/// are left out.
///
/// # Errors
/// As [`read_trials`].
pub fn read_trials_behind(directory: &Path, from: u64) -> Result<Vec<TrialRecord>, DirectoryError> {
    Ok(lines::read_behind(directory, from)?)
}

/// The resolved study that a run wrote, as text.
///
/// # Errors
/// When the file cannot be read.
pub fn read_study_text(directory: &Path) -> Result<String, DirectoryError> {
    let path = directory.join("study.toml");
    let missing = || io_error("read", &path, ErrorKind::NotFound.into());
    let bytes = tare_files::read_regular(&path, LARGEST_STUDY)?.ok_or_else(missing)?;
    String::from_utf8(bytes).map_err(|e| io_error("read", &path, io::Error::new(ErrorKind::InvalidData, e)))
}

fn write_document(path: &Path, text: &str) -> Result<(), DirectoryError> {
    Ok(tare_files::write_whole(path, text.as_bytes())?)
}

/// A document as people read it.
pub(crate) fn pretty<T: Serialize>(value: &T) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}
