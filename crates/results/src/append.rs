//! Appends records: one line per finished trial, one file per writer; records of others are never truncated.

use super::error::{DirectoryError, io_error};
use super::limits::{LONGEST_LINE, within_limits};
use super::lines::TRIALS;
use super::lists::Limited;
use super::schema::TrialRecord;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::time::Duration;
use tare_files::{Folder, crash, wait_for_lock};

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
    use crate::store::{Directory, read_trials, read_trials_and_damage};
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;
    use tare_files::Trust;

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
