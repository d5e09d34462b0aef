//! Writes a results directory: created once, locked while a run owns it. `append` writes its records.

use super::directory::{self, LARGEST_STUDY, STUDY};
use super::error::{ReadError, io_error};
use super::lines::{self, DamagedLine, TRIALS};
use super::lists::Limited;
use super::schema::{Environment, Plan, TrialRecord};
use serde::Serialize;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;
use tare_files::{Folder, Trust, crash};

pub use super::append::{Writer, append_trial, append_trial_of};
pub use super::error::DirectoryError;

pub const LOGS: &str = "logs";
pub const CAPTURES: &str = "captures";
const LOCK: &str = ".lock";

/// The name of the log of an attempt at a trial, in [`LOGS`].
pub fn trial_log(trial: usize, attempt: u32) -> String {
    format!("trial-{trial:05}-{attempt}.log")
}

impl TrialRecord {
    /// The log of this attempt, as a path in the results directory.
    pub fn log(&self) -> String {
        format!("{LOGS}/{}", trial_log(self.trial, self.attempt))
    }
}

/// A results directory that is open for writing, with its lock.
#[derive(Debug)]
pub struct Directory {
    folder: Folder,
    _lock: File,
}

impl Directory {
    /// Creates a directory at `path` and locks it.
    ///
    /// # Errors
    /// If `path` is not empty or cannot be written, or if untrusted users could replace it.
    pub fn create(path: &Path, trust: Trust) -> Result<Self, DirectoryError> {
        crash::point("results: before their directory is made");
        Self::create_in(Folder::open_or_create(path, trust)?)
    }

    /// Whether [`Directory::create`] would succeed at `path`, as far as can be checked without creating it.
    pub fn can_be_created(path: &Path, trust: Trust) -> Result<(), DirectoryError> {
        match Folder::open(path, trust)? {
            Some(folder) => Self::is_empty(&folder),
            None => {
                let there = path.ancestors().map(|part| if part == Path::new("") { Path::new(".") } else { part });
                let there = there.into_iter().find(|part| part.exists()).unwrap_or(Path::new("/"));
                rustix::fs::access(there, rustix::fs::Access::WRITE_OK)
                    .map_err(|e| io_error("write to", there, e.into()))
            }
        }
    }

    pub(crate) fn create_in(folder: Folder) -> Result<Self, DirectoryError> {
        folder.make_sub(LOGS)?;
        crash::point("results: their directory is made");
        Self::take_empty(folder)
    }

    pub(crate) fn take_empty(folder: Folder) -> Result<Self, DirectoryError> {
        Self::is_empty(&folder)?;
        Self::lock(folder)
    }

    fn is_empty(folder: &Folder) -> Result<(), DirectoryError> {
        match folder.names()?.iter().any(|name| name != LOGS && name != LOCK) {
            true => Err(DirectoryError::NotEmpty(folder.path().to_owned())),
            false => Ok(()),
        }
    }

    /// Opens an existing one to resume its run. Its contents are executed: `trust` says whose files are accepted.
    ///
    /// # Errors
    /// If it is no results directory, is of a newer schema, or another run uses it; or if the directory, its contents
    /// or its path belong to or are writable by untrusted users.
    pub fn resume(path: &Path, trust: Trust) -> Result<Self, DirectoryError> {
        Self::lock(Self::begun(path, trust)?)
    }

    pub fn begun(path: &Path, trust: Trust) -> Result<Folder, DirectoryError> {
        let missing = || ReadError::Io { path: path.to_owned(), source: ErrorKind::NotFound.into() };
        Self::check_begun(Folder::open(path, trust)?.ok_or_else(missing)?)
    }

    pub(crate) fn resume_in(folder: Folder) -> Result<Self, DirectoryError> {
        Self::lock(Self::check_begun(folder)?)
    }

    fn check_begun(folder: Folder) -> Result<Folder, DirectoryError> {
        for missing in ["study.toml", "plan.json"] {
            if folder.file(missing)?.is_none() {
                return Err(DirectoryError::NotResults { path: folder.path().to_owned(), missing });
            }
        }
        // Opens the files to check that they can be trusted before anything begins.
        lines::files(&folder)?.iter().try_for_each(|name| folder.file(name).map(drop))?;
        folder.sub(LOGS)?;
        folder.sub(CAPTURES)?;
        Ok(folder)
    }

    pub fn lock(folder: Folder) -> Result<Self, DirectoryError> {
        let file = folder.lock_file(LOCK)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { folder, _lock: file }),
            Err(TryLockError::WouldBlock) => Err(DirectoryError::Busy(folder.path().to_owned())),
            Err(TryLockError::Error(e)) => Err(io_error("lock", &folder.path().join(LOCK), e)),
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The handle for access to all its contents.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The open folder, without the lock.
    pub(crate) fn into_folder(self) -> Folder {
        self.folder
    }

    /// Writes one document atomically.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), DirectoryError> {
        Ok(self.folder.write(name, text.as_bytes())?)
    }

    /// Writes the study, if it is small enough to be read back.
    pub(crate) fn write_study(&self, text: &str) -> Result<(), DirectoryError> {
        if text.len() as u64 > LARGEST_STUDY {
            let path = self.path().join(STUDY);
            return Err(tare_files::FilesError::TooLarge { path, limit: LARGEST_STUDY }.into());
        }
        self.write(STUDY, text)
    }

    /// Writes the three documents of a new run.
    pub fn begin(&self, study_toml: &str, plan: &Plan, environment: &Environment) -> Result<(), DirectoryError> {
        self.write("environment.json", &pretty(environment))?;
        self.write_study(study_toml)?;
        crash::point("results: before the plan");
        // The plan is written last: a directory with a plan can be resumed.
        write_plan(&self.folder, plan)
    }
}

pub fn read_plan(directory: &Folder) -> Result<Plan, DirectoryError> {
    Ok(directory::read_plan(directory)?)
}

/// Replaces `plan.json`: with a decision, and never with fewer trials.
pub fn write_plan(directory: &Folder, plan: &Plan) -> Result<(), DirectoryError> {
    let path = directory.path().join("plan.json");
    if let Err(out_of_range) = plan.check() {
        return Err(DirectoryError::OutOfRange { path, out_of_range });
    }
    let text = pretty(plan);
    if text.len() as u64 > directory::LARGEST_PLAN {
        return Err(tare_files::FilesError::TooLarge { path, limit: directory::LARGEST_PLAN }.into());
    }
    Ok(directory.write("plan.json", text.as_bytes())?)
}

/// The records of all writers, those of the local run first; empty if there is no such file yet. Damaged lines and
/// duplicate records are left out: see [`read_trials_and_damage`].
pub fn read_trials(directory: &Folder) -> Result<Vec<TrialRecord>, DirectoryError> {
    Ok(read_trials_and_damage(directory)?.0)
}

pub fn read_trials_and_damage(directory: &Folder) -> Result<(Vec<TrialRecord>, Vec<DamagedLine>), DirectoryError> {
    let records = lines::read(directory)?;
    Ok((lines::without_strangers(records.trials, None).0, records.damaged))
}

/// Position of the next record of the local run in `trials.jsonl`, bytes.
pub fn end_of_trials(directory: &Folder) -> Result<u64, DirectoryError> {
    let file = directory.file(TRIALS)?;
    let failed = |e| io_error("read", &directory.path().join(TRIALS), e);
    let length = file.map(|file| file.metadata()).transpose().map_err(failed)?;
    Ok(length.map_or(0, |file| file.len()))
}

/// The local run's records from byte `from` on, a position from [`end_of_trials`]. Damaged lines are left out.
pub fn read_trials_behind(directory: &Folder, from: u64) -> Result<Vec<TrialRecord>, DirectoryError> {
    Ok(lines::read_behind(directory, from)?)
}

/// The resolved study that a run wrote, as text.
pub fn read_study_text(directory: &Folder) -> Result<String, DirectoryError> {
    let failed = |e| io_error("read", &directory.path().join("study.toml"), e);
    let bytes = directory.read(STUDY, LARGEST_STUDY)?.ok_or_else(|| failed(ErrorKind::NotFound.into()))?;
    String::from_utf8(bytes).map_err(|e| failed(io::Error::new(ErrorKind::InvalidData, e)))
}

pub(crate) fn pretty<T: Serialize>(value: &T) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}
