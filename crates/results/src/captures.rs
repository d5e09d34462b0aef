//! The files of captures, one directory per trial: `captures/trial-NNNNN-A/`. Written by `capture`, read here for
//! analysis.
//!
//! | file | holds |
//! | --- | --- |
//! | `profile.json` | [`ProfileFile`]: symbols by their share of the samples |
//! | `profile.folded` | every call chain with its number of samples, `caller;callee 17` |
//! | `profile.svg` | the same as an interactive flame graph, for a browser |
//! | `locks.json` | [`LocksFile`]: waits for locks inside the server |
//! | `waits.json` | [`WaitsFile`]: where the server's threads spend wall-clock time |
//! | `wall.folded` | `profile.folded` and `waits.json` combined: wall-clock time of connection threads |
//! | `wakes.json` | [`WakesFile`]: wakers of the connections' threads |
//! | `status.json` | [`StatusFile`]: the server's counters over the capture sample |
//! | `innodb-status.txt` | SHOW ENGINE INNODB STATUS at its end |

use super::limits::Limited;
use super::place::Place;
use super::schema::{SCHEMA, TrialRecord};
use super::waits::{CallerShare, CallersSource, WaitsFile, WakesFile};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use tare_files::FilesError;

/// Name in [`TrialRecord::captures`] of the capture stored as a [`ProfileFile`].
pub const PROFILE: &str = "profile";
pub const FOLDED: &str = "profile.folded";
pub const FLAME_GRAPH: &str = "profile.flame_graph";
/// Name of the capture stored as a [`LocksFile`].
pub const LOCKS: &str = "locks";
/// Name of the capture stored as a [`WaitsFile`].
pub const WAITS: &str = "waits";
pub const WALL: &str = "waits.wall";
/// Name of the capture stored as a [`WakesFile`].
pub const WAKES: &str = "wakes";
/// Part of `wakes`: the callers of the functions that threads sleep in.
pub const CALLERS: &str = "wakes.callers";
/// Name of the capture stored as a [`StatusFile`].
pub const STATUS: &str = "status";
/// PostgreSQL's count of flushes of the log from 18 on; recorded even if it did not change.
pub const WAL_FSYNCS: &str = "io.wal_fsyncs";
/// Maximum size of a capture that is read for a report, bytes.
const LARGEST: u64 = 64 << 20;
/// Estimated memory per byte of a parsed document.
const OF_A_DOCUMENT: u64 = 8;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileFile {
    pub schema: u32,
    /// The sampling event: `cycles`, or `cpu-clock` without a hardware counter, with perf's modifiers.
    pub event: String,
    /// Requested samples per second and PU.
    pub frequency_hz: u64,
    /// `pus`: taken on all PUs and then filtered for the server; `threads`: taken in the server's threads only.
    pub scope: String,
    /// How call chains were unwound: `dwarf` or `fp`.
    pub call_graph: String,
    /// Whether time inside the kernel is included.
    pub kernel: bool,
    /// Samples of the server. Shares are relative to the event's count, which each sample carries.
    pub samples: u64,
    /// The largest shares first; a symbol with less than one in 5,000 samples is left out.
    pub symbols: Vec<SymbolShare>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SymbolShare {
    /// Its demangled name; kernel symbols end in `_[k]`.
    pub symbol: String,
    /// Share of the samples inside it, 0 to 1.
    pub self_fraction: f64,
    /// Share of the samples inside it or its callees, 0 to 1.
    pub total_fraction: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LocksFile {
    pub schema: u32,
    /// The source of the figures, and what was enabled for them.
    pub source: String,
    /// Length of the sample, seconds.
    pub elapsed_s: f64,
    pub threads: usize,
    pub waits: Vec<LockShare>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// A lock inside the server; the only kind in older records.
    #[default]
    Lock,
    /// A lock that a client gets by retrying: the CPU time of both sides during the retries is part of the wait.
    Retried,
    /// A lock of a row, or the end of the transaction that holds it.
    Row,
    /// A lock of one page of a table or an index.
    Page,
    /// A lock of one index, held while its tree changes.
    Index,
    /// The log, until it is on storage.
    Log,
    File,
    /// A file that holds what one statement sorts or collects, because its memory does not suffice.
    TemporaryFile,
    /// A timed wait of the server itself: back-off.
    Pause,
    /// A sleep that a statement asks for, such as `pg_sleep`.
    Sleep,
    /// Another process that works for the same statement, such as a parallel worker.
    Process,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LockShare {
    #[serde(default)]
    pub kind: WaitKind,
    pub name: String,
    /// How often it was acquired; for waits that are sampled, how often they were observed.
    pub count: u64,
    /// Time spent waiting for the lock, over all threads, milliseconds.
    pub wait_ms: f64,
    /// `wait_ms` as a share of the time of all connections' threads: 1 means that every thread always waits for this
    /// lock.
    pub wait_fraction: f64,
}

/// The server's own counters, before and after the sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatusFile {
    pub schema: u32,
    /// Length of the sample, seconds.
    pub elapsed_s: f64,
    /// Counter -> value at the end minus value at the start; unchanged counters are left out.
    pub differences: BTreeMap<String, f64>,
}

#[derive(Debug, Clone, Default)]
pub struct Captures {
    pub place: Option<Place>,
    pub profile: Option<ProfileFile>,
    pub locks: Option<LocksFile>,
    pub status: Option<StatusFile>,
    /// Wall-clock time of the server's threads, if captured.
    pub waits: Option<WaitsFile>,
    /// Wakers of the connections' threads, if captured.
    pub wakes: Option<WakesFile>,
}

/// Reads the captures of a trial that analysis uses, with one sentence for each that cannot be read.
pub(crate) fn read(place: &Place, trial: &TrialRecord) -> (Captures, Vec<String>) {
    let mut unread = Vec::new();
    let captures = Captures {
        place: Some(place.clone()),
        profile: document_or(place, trial, PROFILE, &mut unread),
        locks: document_or(place, trial, LOCKS, &mut unread),
        status: document_or(place, trial, STATUS, &mut unread),
        waits: document_or(place, trial, WAITS, &mut unread),
        wakes: document_or(place, trial, WAKES, &mut unread),
    };
    (captures, unread)
}

impl Captures {
    /// The callers of the functions that connections slept in; none if neither capture has them.
    pub fn callers(&self) -> Option<(CallersSource, &[CallerShare])> {
        let of_wakes = self.wakes.as_ref().map(|wakes| (CallersSource::Tracepoints, wakes.callers.as_slice()));
        let stacks = self.waits.as_ref().and_then(|waits| waits.stacks.as_ref());
        let of_waits = stacks.map(|stacks| (CallersSource::StackSamples, stacks.callers.as_slice()));
        of_wakes.into_iter().chain(of_waits).find(|(_, callers)| !callers.is_empty())
    }

    /// The folded chains of this trial, [`FOLDED`] or [`WALL`], in plain text; none if missing or unreadable.
    pub fn folded(&self, trial: &TrialRecord, name: &str) -> Option<String> {
        text(self.place.as_ref()?, trial, name, 2).ok().flatten().map(|chains| tare_text::shown(&chains))
    }
}

#[derive(Deserialize)]
struct Versioned {
    schema: u32,
}

fn document_or<T: DeserializeOwned + Limited>(
    place: &Place,
    trial: &TrialRecord,
    name: &str,
    unread: &mut Vec<String>,
) -> Option<T> {
    document(place, trial, name).unwrap_or_else(|reason| {
        unread.push(format!("the {name} of trial {} cannot be read: {reason}", trial.trial));
        None
    })
}

fn document<T: DeserializeOwned + Limited>(
    place: &Place,
    trial: &TrialRecord,
    name: &str,
) -> Result<Option<T>, String> {
    text(place, trial, name, OF_A_DOCUMENT)?.map(|text| parsed(text.as_bytes())).transpose()
}

fn parsed<T: DeserializeOwned + Limited>(text: &[u8]) -> Result<T, String> {
    let versioned: Versioned = serde_json::from_slice(text).map_err(|e| e.to_string())?;
    if versioned.schema > SCHEMA {
        return Err(format!("it has schema {}, this tare reads up to {SCHEMA}", versioned.schema));
    }
    let document: T = serde_json::from_slice(text).map_err(|e| e.to_string())?;
    document.check().map_err(|out_of_range| out_of_range.to_string())?;
    Ok(document)
}

/// Serializes the document of a capture; fails with the reason if it could not be read back.
pub fn written<T: Serialize + DeserializeOwned + Limited>(document: &T) -> Result<Vec<u8>, String> {
    let text = serde_json::to_vec_pretty(document).map_err(|e| e.to_string())?;
    if text.len() as u64 > LARGEST {
        return Err(format!("it would have {} MiB: at most {} are read", text.len() >> 20, LARGEST >> 20));
    }
    // An infinite figure is written as null, which cannot be read back.
    parsed::<T>(&text).map_err(|reason| format!("it could not be read back: {reason}"))?;
    Ok(text)
}

fn text(place: &Place, trial: &TrialRecord, name: &str, times: u64) -> Result<Option<String>, String> {
    let Some(path) = trial.captures.get(name) else { return Ok(None) };
    // A record may come from an untrusted source: it must not make a report show a file from outside its directory.
    let results = place.folder().map_err(|e| e.to_string())?;
    let found =
        place.within(LARGEST, times, |limit| results.read_beneath(Path::new(path), limit)).map_err(|e| match e {
            FilesError::Outside { .. } => format!("{path} is not inside the results directory"),
            other => other.to_string(),
        })?;
    let bytes = found.ok_or_else(|| format!("{path} is not there"))?;
    String::from_utf8(bytes).map(Some).map_err(|e| format!("{path}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_that_could_not_be_read_back_is_reported_as_missing() {
        let of = |wait_ms: f64, waits: usize| {
            let wait = LockShare { kind: WaitKind::Lock, name: "l".into(), count: 1, wait_ms, wait_fraction: 0.1 };
            let (source, waits) = (String::new(), vec![wait; waits]);
            written(&LocksFile { schema: SCHEMA, source, elapsed_s: 1.0, threads: 1, waits })
        };
        assert!(of(1.0, 1).is_ok());
        assert!(of(f64::INFINITY, 1).unwrap_err().contains("read back"));
        assert!(of(1.0, 5_001).unwrap_err().contains("waits has 5001 entries"));
    }
}
