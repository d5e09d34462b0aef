//! Writes a results directory: created once, locked while a run owns it; one line per finished trial is appended, one
//! file per writer, and records of others are never truncated.

pub use super::directory::STUDY;
use super::directory::{self, LARGEST_STUDY};
use super::error::{ReadError, io_error};
use super::limits::{LONGEST_LINE, Limited, within_limits};
use super::lines::{self, DamagedLine, TRIALS};
use super::schema::{Environment, Plan, TrialRecord};
use serde::Serialize;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;
use tare_files::{Folder, Trust, crash, wait_for_lock};

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

/// Maximum wait for the lock: a line is written and synced in far less.
const LONGEST_LOCK: Duration = Duration::from_secs(2);

/// A writer of records other than the local run: a task of a cluster's scheduler, another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writer(String);

impl Writer {
    /// A writer by its name, which becomes part of a file name.
    pub fn new(name: &str) -> Result<Self, DirectoryError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        if name.is_empty() || name.starts_with('.') || name.len() > 100 || !name.chars().all(fits) {
            return Err(DirectoryError::BadWriter(name.to_owned()));
        }
        Ok(Self(name.to_owned()))
    }
}

/// Appends one record of the local run to `trials.jsonl` and returns after it is synced to disk.
///
/// # Errors
/// If the line cannot be written; on a full disk, before its first byte.
pub fn append_trial(directory: &Folder, record: &TrialRecord) -> Result<(), DirectoryError> {
    append(directory, TRIALS, record)
}

/// Appends the record of another writer to its own file: `trials-WRITER.jsonl`.
pub fn append_trial_of(directory: &Folder, writer: &Writer, record: &TrialRecord) -> Result<(), DirectoryError> {
    append(directory, &format!("trials-{}.jsonl", writer.0), record)
}

/// Never truncates: after a crash an unfinished line stays, and this record starts on a new line after it.
fn append(directory: &Folder, name: &str, record: &TrialRecord) -> Result<(), DirectoryError> {
    let failed = |e: io::Error| io_error("write", &directory.path().join(name), e);
    let mut file = directory.append(name)?;
    // The two trials of a pair may end at the same time, and half of the other's line must not be taken for an
    // unfinished one. Any user who may read the file can hold its lock, but this only delays a record, because the wait
    // is limited. File systems without locks are those of clusters, where each writer has its own file.
    wait_for_lock(&file, LONGEST_LOCK);
    let end = file.seek(SeekFrom::End(0)).map_err(failed)?;
    let mut line = Vec::new();
    if end > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last)).map_err(failed)?;
        if last != *b"\n" {
            line.push(b'\n');
        }
    }
    let record = within_limits(record);
    record.check().map_err(|e| DirectoryError::OutOfRange { path: directory.path().join(name), out_of_range: e })?;
    serde_json::to_writer(&mut line, &record).map_err(|e| failed(e.into()))?;
    line.push(b'\n');
    if line.len() as u64 >= LONGEST_LINE {
        return Err(DirectoryError::RecordTooLong { bytes: line.len() as u64 });
    }
    reserve(&file, end, line.len() as u64).map_err(failed)?;
    crash::point("record: before it is appended");
    file.write_all(&line).map_err(failed)?;
    crash::point("record: appended, not synced");
    file.sync_all().map_err(failed)?;
    if end == 0 {
        crash::point("record: the first, its folder not synced");
        directory.sync()?;
    }
    crash::point("record: synced");
    Ok(())
}

/// Allocates the space for a line, so that a full disk refuses it as a whole. If the file system does not support this,
/// the line is written without it.
fn reserve(file: &File, end: u64, length: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    match fallocate(file, FallocateFlags::KEEP_SIZE, end, length) {
        Err(e @ (rustix::io::Errno::NOSPC | rustix::io::Errno::DQUOT)) => Err(e.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{PlannedTrial, SampleRecord};
    use std::collections::BTreeMap;
    use std::fs;

    fn open(path: &Path) -> Folder {
        Folder::open(path, Trust::Anyone).unwrap().unwrap()
    }

    fn record(trial: usize) -> TrialRecord {
        let planned = PlannedTrial { trial, block: 0, condition: "base".into(), lifetime: None };
        TrialRecord { elapsed_s: 1.0, ..TrialRecord::new(&planned, 1, BTreeMap::new(), crate::now()) }
    }

    #[test]
    fn a_link_in_place_of_the_records_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let victim = directory.path().join("victim");
        fs::write(&victim, "precious\n").unwrap();
        std::os::unix::fs::symlink(&victim, directory.path().join("trials.jsonl")).unwrap();
        let error = append_trial(&open(directory.path()), &record(0)).unwrap_err();
        assert!(error.to_string().contains("symbolic link"), "{error}");
        assert_eq!(fs::read_to_string(victim).unwrap(), "precious\n");
    }

    #[test]
    fn an_unfinished_line_stays_and_the_next_record_begins_a_new_one() {
        let directory = tempfile::tempdir().unwrap();
        for file in ["study.toml", "plan.json"] {
            fs::write(directory.path().join(file), "").unwrap();
        }
        append_trial(&open(directory.path()), &record(0)).unwrap();
        let path = directory.path().join("trials.jsonl");
        let whole = fs::read_to_string(&path).unwrap();
        let torn = format!("{whole}{{\"schema\":1,\"tri");
        fs::write(&path, &torn).unwrap();
        let held = Directory::resume(directory.path(), Trust::Anyone).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), torn, "another may be writing it");
        append_trial(&open(directory.path()), &record(1)).unwrap();
        assert!(fs::read_to_string(&path).unwrap().starts_with(&format!("{torn}\n{{")));
        let (trials, damaged) = read_trials_and_damage(&open(directory.path())).unwrap();
        assert_eq!(trials.iter().map(|t| t.trial).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(damaged.iter().map(|d| d.line).collect::<Vec<_>>(), [2]);
        assert!(matches!(Directory::resume(held.path(), Trust::Anyone), Err(DirectoryError::Busy(_))));
    }

    #[test]
    fn concurrent_appends_produce_only_whole_lines() {
        let directory = tempfile::tempdir().unwrap();
        let samples = vec![SampleRecord::default(); 500];
        std::thread::scope(|scope| {
            for writer in 0..2 {
                let (folder, samples) = (open(directory.path()), &samples);
                let appends = move || {
                    for number in 0..100 {
                        let record = TrialRecord { samples: samples.clone(), ..record(2 * number + writer) };
                        append_trial(&folder, &record).unwrap();
                    }
                };
                std::thread::Builder::new().spawn_scoped(scope, appends).unwrap();
            }
        });
        let text = fs::read_to_string(directory.path().join("trials.jsonl")).unwrap();
        let whole = text.lines().filter(|line| serde_json::from_str::<TrialRecord>(line).is_ok());
        assert_eq!((whole.count(), text.lines().count()), (200, 200));
    }

    #[test]
    fn a_lock_held_by_another_process_only_delays_a_record() {
        let directory = tempfile::tempdir().unwrap();
        append_trial(&open(directory.path()), &record(0)).unwrap();
        let other = File::open(directory.path().join("trials.jsonl")).unwrap();
        other.lock().unwrap();
        append_trial(&open(directory.path()), &record(1)).unwrap();
        assert_eq!(read_trials(&open(directory.path())).unwrap().len(), 2);
    }

    #[test]
    fn every_writer_has_a_file_of_its_own_and_all_are_read_once() {
        let directory = tempfile::tempdir().unwrap();
        let writers: Vec<Writer> = ["b", "node-1.cluster_7"].iter().map(|name| Writer::new(name).unwrap()).collect();
        append_trial_of(&open(directory.path()), &writers[1], &record(2)).unwrap();
        append_trial_of(&open(directory.path()), &writers[0], &record(1)).unwrap();
        append_trial(&open(directory.path()), &record(0)).unwrap();
        append_trial_of(&open(directory.path()), &writers[0], &record(0)).unwrap();
        let trials = read_trials(&open(directory.path())).unwrap();
        assert_eq!(trials.iter().map(|t| t.trial).collect::<Vec<_>>(), [0, 1, 2], "none twice");
        for name in ["", "../x", "a/b", "a b", &"x".repeat(101)] {
            assert!(Writer::new(name).is_err(), "{name}");
        }
    }
}
