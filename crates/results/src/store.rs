//! Writing a results directory: created once, locked while a run owns it, one synced line a finished trial.

use super::directory;
use super::reader::ReadError;
use super::schema::{Environment, Plan, TrialRecord};
use serde::Serialize;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

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
}

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
        fs::create_dir_all(path.join("logs")).map_err(|e| io_error("create", path, e))?;
        let occupied = fs::read_dir(path)
            .map_err(|e| io_error("read", path, e))?
            .filter_map(Result::ok)
            .any(|entry| entry.file_name() != "logs" && entry.file_name() != ".lock");
        if occupied {
            return Err(DirectoryError::NotEmpty(path.to_owned()));
        }
        Self::lock(path)
    }

    /// Opens an existing one to go on with it.
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
        let directory = Self::lock(path)?;
        directory.drop_torn_line()?;
        Ok(directory)
    }

    fn lock(path: &Path) -> Result<Self, DirectoryError> {
        let file_path = path.join(".lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&file_path)
            .map_err(|e| io_error("write", &file_path, e))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: file }),
            Err(TryLockError::WouldBlock) => Err(DirectoryError::Busy(path.to_owned())),
            Err(TryLockError::Error(e)) => Err(io_error("lock", &file_path, e)),
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the three documents of a fresh run.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn begin(&self, study_toml: &str, plan: &Plan, environment: &Environment) -> Result<(), DirectoryError> {
        write_synced(&self.path.join("environment.json"), &pretty(environment))?;
        write_synced(&self.path.join("study.toml"), study_toml)?;
        // Last: a directory with a plan is one that can be resumed.
        write_synced(&self.path.join("plan.json"), &pretty(plan))
    }

    /// A crash in the middle of a line leaves half of it; the trial it belonged to will run again.
    fn drop_torn_line(&self) -> Result<(), DirectoryError> {
        let path = self.path.join("trials.jsonl");
        if !path.exists() {
            return Ok(());
        }
        let mut file =
            OpenOptions::new().read(true).write(true).open(&path).map_err(|e| io_error("write", &path, e))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(|e| io_error("read", &path, e))?;
        let whole = text.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        if whole < text.len() {
            file.set_len(whole as u64).and_then(|()| file.sync_all()).map_err(|e| io_error("write", &path, e))?;
        }
        Ok(())
    }
}

/// Reads `plan.json`.
///
/// # Errors
/// When it is missing, newer or malformed.
pub fn read_plan(directory: &Path) -> Result<Plan, DirectoryError> {
    Ok(directory::read_plan(directory)?)
}

/// Writes `plan.json` anew: with a decision, and never with fewer trials.
///
/// # Errors
/// When the file cannot be written.
pub fn write_plan(directory: &Path, plan: &Plan) -> Result<(), DirectoryError> {
    write_synced(&directory.join("plan.json"), &pretty(plan))
}

/// The records of `trials.jsonl`, in file order; none when there is no such file yet.
///
/// # Errors
/// When a whole line is newer or malformed. A last line without its end is a crash's and is left out.
pub fn read_trials(directory: &Path) -> Result<Vec<TrialRecord>, DirectoryError> {
    Ok(directory::read_trials(directory, &mut Vec::new())?)
}

/// Appends one record and does not return before it is on the disk.
///
/// # Errors
/// When the line cannot be written; a half-written line is taken back.
pub fn append_trial(directory: &Path, record: &TrialRecord) -> Result<(), DirectoryError> {
    let path = directory.join("trials.jsonl");
    let mut line = serde_json::to_vec(record).map_err(|e| io_error("write", &path, e.into()))?;
    line.push(b'\n');
    let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(|e| io_error("write", &path, e))?;
    let end = file.seek(SeekFrom::End(0)).map_err(|e| io_error("write", &path, e))?;
    file.write_all(&line).and_then(|()| file.sync_all()).map_err(|e| {
        // Nothing more can be done when even this fails: a torn last line is dropped by the next resume.
        let _ = file.set_len(end);
        io_error("write", &path, e)
    })
}

/// Writes a file whole or not at all: to a temporary name, synced, then renamed.
///
/// # Errors
/// When it cannot be written.
pub fn write_synced(path: &Path, text: &str) -> Result<(), DirectoryError> {
    let temporary = path.with_extension("tmp");
    let write = || -> io::Result<()> {
        let mut file = File::create(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    write().map_err(|e| io_error("write", path, e))
}

/// The resolved study that a run wrote, as text.
///
/// # Errors
/// When the file cannot be read.
pub fn read_study_text(directory: &Path) -> Result<String, DirectoryError> {
    let path = directory.join("study.toml");
    fs::read_to_string(&path).map_err(|e| io_error("read", &path, e))
}

fn pretty<T: Serialize>(value: &T) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

fn io_error(doing: &'static str, path: &Path, source: io::Error) -> DirectoryError {
    DirectoryError::Io { doing, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::PlannedTrial;
    use std::collections::BTreeMap;

    fn record(trial: usize) -> TrialRecord {
        let planned = PlannedTrial { trial, block: 0, condition: "base".into() };
        TrialRecord { elapsed_s: 1.0, ..TrialRecord::new(&planned, 1, BTreeMap::new(), crate::now()) }
    }

    #[test]
    fn a_full_disk_is_an_error_and_loses_nothing() {
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/full", directory.path().join("trials.jsonl")).unwrap();
        let error = append_trial(directory.path(), &record(0)).unwrap_err();
        assert!(error.to_string().contains("No space left"), "{error}");
    }

    #[test]
    fn a_torn_last_line_is_taken_away_before_a_run_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        for file in ["study.toml", "plan.json"] {
            fs::write(directory.path().join(file), "").unwrap();
        }
        append_trial(directory.path(), &record(0)).unwrap();
        let path = directory.path().join("trials.jsonl");
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{whole}{{\"schema\":1,\"tri")).unwrap();
        let open = Directory::resume(directory.path()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), whole);
        assert!(matches!(Directory::resume(open.path()), Err(DirectoryError::Busy(_))));
    }
}
