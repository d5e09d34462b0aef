//! Reads the files of records, `trials.jsonl` and `trials-WRITER.jsonl`, line by line, and sets damaged lines aside.

use super::error::{DirectoryError, ReadError, io_error};
use super::limits::{LONGEST_LINE, Limited, MOST_BYTES, MOST_DAMAGED, MOST_RECORDS};
use super::names;
use super::schema::{Outcome, Plan, SCHEMA, TrialRecord};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Take, Write};
use std::path::{Path, PathBuf};
use tare_files::Folder;

/// A line of a file of records that is not a valid record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedLine {
    pub path: PathBuf,
    /// Line number, from 1.
    pub line: usize,
    pub what: String,
}

impl fmt::Display for DamagedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of {} is damaged and set aside: {}", self.line, self.path.display(), self.what)
    }
}

#[derive(Debug, Default)]
pub(super) struct Records {
    /// In the order of files and lines; the local run's own file first.
    pub trials: Vec<TrialRecord>,
    pub damaged: Vec<DamagedLine>,
    pub files: usize,
}

pub(super) const TRIALS: &str = "trials.jsonl";

/// The names of the files of records in a results directory: the local run's own first, then those of other writers.
pub(super) fn files(directory: &Folder) -> Result<Vec<String>, ReadError> {
    let mut names = directory.names()?;
    names.retain(|name| name.starts_with("trials-") && name.ends_with(".jsonl"));
    names.insert(0, TRIALS.to_owned());
    Ok(names)
}

/// The files of records at their current length: data appended later is not read.
pub(super) fn opened(directory: &Folder) -> Result<Vec<(String, Take<File>)>, ReadError> {
    let (mut all, mut bytes) = (Vec::new(), 0);
    for name in files(directory)? {
        let Some(file) = directory.file(&name)? else { continue };
        let path = || directory.path().join(&name);
        let length = file.metadata().map_err(|source| ReadError::Io { path: path(), source })?.len();
        bytes += length;
        if bytes > MOST_BYTES {
            return Err(ReadError::TooMany { path: path(), what: "bytes of records", limit: MOST_BYTES as usize });
        }
        all.push((name, file.take(length)));
    }
    Ok(all)
}

/// Reads every file of records for analysis: samples with nothing but metrics are packed into columns.
pub(super) fn read_packed(directory: &Folder) -> Result<Records, ReadError> {
    read_all(directory, true)
}

pub(super) fn read(directory: &Folder) -> Result<Records, ReadError> {
    read_all(directory, false)
}

fn read_all(directory: &Folder, packed: bool) -> Result<Records, ReadError> {
    let mut records = Records::default();
    for (name, file) in opened(directory)? {
        records.files += 1;
        read_file(file, &directory.path().join(name), packed, &mut records)?;
    }
    Ok(records)
}

/// Reads the records after byte `from` of the local run's own file.
pub(super) fn read_behind(directory: &Folder, from: u64) -> Result<Vec<TrialRecord>, ReadError> {
    let path = directory.path().join(TRIALS);
    let mut records = Records::default();
    if let Some(mut file) = directory.file(TRIALS)? {
        file.seek(SeekFrom::Start(from)).map_err(|source| ReadError::Io { path: path.clone(), source })?;
        read_file(file, &path, false, &mut records)?;
    }
    Ok(records.trials)
}

/// Bytes of lines that are parsed at a time, on as many threads as there are CPUs.
const BATCH: usize = 16 << 20;
/// Minimum memory of a line, however short it is: for its record or its error.
const OF_A_LINE: usize = 4 << 10;

/// The place of a line in its file.
pub(super) struct LinePlace {
    number: usize,
    /// Its first byte, and its length with the newline.
    pub from: u64,
    pub length: usize,
    /// Whether it ends with a newline.
    pub is_whole: bool,
}

struct RawLine {
    place: LinePlace,
    bytes: Vec<u8>,
}

fn read_file(file: impl Read, path: &Path, packed: bool, records: &mut Records) -> Result<(), ReadError> {
    let too_many = |what, limit| Err(ReadError::TooMany { path: path.to_owned(), what, limit });
    each_record(file, path, packed, |place, record| {
        match record {
            Ok(_) if records.trials.len() == MOST_RECORDS => return too_many("records", MOST_RECORDS),
            Ok(trial) => records.trials.push(trial),
            Err(what) => records.damaged.push(DamagedLine { path: path.to_owned(), line: place.number, what }),
        }
        if records.damaged.len() > MOST_DAMAGED { too_many("damaged lines", MOST_DAMAGED) } else { Ok(()) }
    })
}

/// Parses a file of records, and calls `each` for every line that is not blank, in their order: with the record, or the
/// reason why the line is none.
pub(super) fn each_record(
    file: impl Read,
    path: &Path,
    packed: bool,
    mut each: impl FnMut(&LinePlace, Result<TrialRecord, String>) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let (mut batch, mut held, mut from) = (Vec::new(), 0, 0);
    for number in 1.. {
        let failed = |source| ReadError::Io { path: path.to_owned(), source };
        let mut bytes = Vec::new();
        let length = reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes).map_err(failed)?;
        let place = LinePlace { number, from, length, is_whole: bytes.ends_with(b"\n") };
        from += length as u64;
        if length == 0 || held > BATCH {
            take(std::mem::take(&mut batch), path, packed, &mut each)?;
            held = 0;
        }
        if length == 0 {
            break;
        }
        if !place.is_whole && length as u64 == LONGEST_LINE {
            take(std::mem::take(&mut batch), path, packed, &mut each)?;
            each(&place, Err(format!("it is longer than {LONGEST_LINE} bytes")))?;
            from += reader.skip_until(b'\n').map_err(failed)? as u64;
        } else if !bytes.trim_ascii().is_empty() {
            held += length.max(OF_A_LINE);
            batch.push(RawLine { place, bytes });
        }
    }
    Ok(())
}

/// Parses lines and passes each of them to `each`.
fn take(
    batch: Vec<RawLine>,
    path: &Path,
    packed: bool,
    each: &mut impl FnMut(&LinePlace, Result<TrialRecord, String>) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let one = |line: &RawLine| record(&line.bytes, path, line.place.number - 1, packed);
    let mut pass = |line: &RawLine, parsed| {
        let record = match parsed {
            Ok(trial) => Ok(trial),
            // Records are written whole with their newline and synced.
            Err(ReadError::Malformed { .. }) if !line.place.is_whole => {
                Err("it was cut short, as by a crash, or is being written".to_owned())
            }
            Err(ReadError::Malformed { what, .. }) => Err(what),
            Err(ReadError::OutOfRange { out_of_range, .. }) => Err(out_of_range.to_string()),
            Err(error) => return Err(error),
        };
        each(&line.place, record)
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let bytes: usize = batch.iter().map(|line| line.bytes.len()).sum();
    // Starting a thread is worthwhile from about a megabyte. Whole records are so large that other threads only move
    // them out of the caches (`benches/merge`: a sixth slower).
    let parts = if packed { threads.min(bytes >> 20).min(batch.len()) } else { 1 };
    if parts < 2 {
        return batch.iter().try_for_each(|line| pass(line, one(line)));
    }
    let parsed: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = batch
            .chunks(batch.len().div_ceil(parts))
            .map(|lines| {
                let all = move || lines.iter().map(one).collect::<Vec<_>>();
                (lines, std::thread::Builder::new().spawn_scoped(scope, all))
            })
            .collect();
        let finished = running.into_iter().flat_map(|(lines, part)| match part {
            // A panic of the thread would have occurred here too.
            Ok(part) => part.join().unwrap_or_else(|e| std::panic::resume_unwind(e)),
            // If no thread can be started, parse on this one.
            Err(_) => lines.iter().map(one).collect(),
        });
        finished.collect()
    });
    batch.iter().zip(parsed).try_for_each(|(line, parsed)| pass(line, parsed))
}

/// Parses a valid record in one pass; an invalid one is parsed again for its error.
fn record(bytes: &[u8], path: &Path, lines_before: usize, packed: bool) -> Result<TrialRecord, ReadError> {
    let mut trial = match serde_json::from_slice::<TrialRecord>(bytes) {
        Ok(trial) if trial.schema <= SCHEMA && trial.check().is_ok() => trial,
        _ => parse(bytes, path, lines_before)?,
    };
    if packed {
        names::of_trial(&mut trial);
        trial.merge_histograms();
        trial.pack();
    }
    Ok(trial)
}

/// The part of every document that is read first: a newer document may not parse as the current type.
#[derive(Deserialize)]
struct Versioned {
    schema: u32,
}

/// Parses one document that begins `lines_before` lines into its file, and checks the limits of its lists.
pub(super) fn parse<T: DeserializeOwned + Limited>(
    bytes: &[u8],
    path: &Path,
    lines_before: usize,
) -> Result<T, ReadError> {
    let malformed = |error: serde_json::Error| ReadError::Malformed {
        path: path.to_owned(),
        line: lines_before + error.line().max(1),
        column: error.column(),
        what: error.to_string(),
        expected: format!("a record of schema {SCHEMA} as tare writes it"),
    };
    let versioned: Versioned = serde_json::from_slice(bytes).map_err(malformed)?;
    if versioned.schema > SCHEMA {
        return Err(ReadError::NewerSchema { path: path.to_owned(), found: versioned.schema, known: SCHEMA });
    }
    let document: T = serde_json::from_slice(bytes).map_err(malformed)?;
    document.check().map_err(|out_of_range| ReadError::OutOfRange { path: path.to_owned(), out_of_range })?;
    Ok(document)
}

/// Removes records that must not be counted: a second record of the same attempt, a second good record of a trial, and
/// trials that are not in the plan. Returns one sentence for each kind.
pub(super) fn without_strangers(trials: Vec<TrialRecord>, plan: Option<&Plan>) -> (Vec<TrialRecord>, Vec<String>) {
    let planned: Option<BTreeMap<usize, &str>> =
        plan.map(|plan| plan.trials.iter().map(|trial| (trial.trial, trial.condition.as_str())).collect());
    let (mut seen, mut good) = (BTreeSet::new(), BTreeSet::new());
    let (mut twice, mut unplanned) = (Vec::new(), Vec::new());
    let mut kept = Vec::new();
    for trial in trials {
        let known = planned.as_ref().is_none_or(|all| all.get(&trial.trial) == Some(&trial.condition.as_str()));
        if !known {
            unplanned.push(trial.trial);
        } else if !seen.insert((trial.trial, trial.attempt))
            || (trial.outcome == Outcome::Ok && !good.insert(trial.trial))
        {
            twice.push(trial.trial);
        } else {
            kept.push(trial);
        }
    }
    let reported = |numbers: &[usize], what: &str| {
        (!numbers.is_empty()).then(|| format!("{} not analysed: {what} (trial {})", count(numbers), list(numbers)))
    };
    let sentences = [
        reported(&twice, "the trial is recorded already"),
        reported(&unplanned, "the plan has no such trial of that condition"),
    ];
    (kept, sentences.into_iter().flatten().collect())
}

fn count(numbers: &[usize]) -> String {
    if numbers.len() == 1 { "1 record is".to_owned() } else { format!("{} records are", numbers.len()) }
}

fn list(numbers: &[usize]) -> String {
    const LISTED: usize = 5;
    let first: Vec<String> = numbers.iter().take(LISTED).map(usize::to_string).collect();
    let more = if numbers.len() > LISTED { ", ..." } else { "" };
    first.join(", ") + more
}

/// Maximum size of a file of records that is repaired, bytes.
const LARGEST: u64 = 1 << 30;

/// Moves every damaged line to a file next to its own, `trials.jsonl.damaged`, and returns these lines. Nothing may
/// write records at the same time: the caller holds the directory's lock, and the user has to make sure that no other
/// writer is active.
///
/// # Errors
/// If a file cannot be read or written; no valid record is lost then.
pub fn repair(directory: &Folder) -> Result<Vec<DamagedLine>, DirectoryError> {
    let damaged = read(directory)?.damaged;
    for name in files(directory)? {
        let path = directory.path().join(&name);
        let bad: BTreeSet<usize> = damaged.iter().filter(|d| d.path == path).map(|d| d.line).collect();
        if bad.is_empty() {
            continue;
        }
        let missing = || io_error("read", &path, ErrorKind::NotFound.into());
        let bytes = directory.read(&name, LARGEST)?.ok_or_else(missing)?;
        let (mut kept, mut aside) = (Vec::new(), Vec::new());
        for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let to = if bad.contains(&(index + 1)) { &mut aside } else { &mut kept };
            to.extend_from_slice(line);
            if !line.ends_with(b"\n") {
                to.push(b'\n');
            }
        }
        // Synced to the other file before the line is removed from this one.
        let aside_name = format!("{name}.damaged");
        let mut file = directory.append(&aside_name)?;
        let written = file.write_all(&aside).and_then(|()| file.sync_all());
        written.map_err(|e| io_error("write", &directory.path().join(&aside_name), e))?;
        directory.write(&name, &kept)?;
    }
    Ok(damaged)
}
