//! Binds threads of other programs: their affinities are on disk before they are bound, and are restored exactly.

use super::file::{Journal, VERSION, boot_id};
use super::outcome::{Outcome, RestoreReport, Restored};
use crate::error::Result;
use crate::lock::HostLock;
use crate::system::System;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;
use tare_cpuset::observe::ObserveError;
use tare_cpuset::{AffinityError, CpuSet, ThreadRef, affinity_of, bind_thread, observe};
use tare_files::crash;

/// Name of the setting in reports.
const SETTING: &str = "affinity";

/// One line of the journal of affinities: a thread that is about to be bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    v: u32,
    /// The boot in which it was written.
    boot: String,
    thread: ThreadRef,
    /// Start of the thread, clock ticks after boot, because the kernel may reuse its number.
    started: u64,
    found: CpuSet,
    /// The CPUs to which it is about to be bound.
    wrote: CpuSet,
    /// Threads that its process had when the first of them was bound; only in the entry of that first one. A later
    /// thread may have been created by a bound one, and then inherited its CPUs.
    known: BTreeSet<i32>,
    /// Descendants of its process at that time, in the same entry: a later one inherited the CPUs of its creating
    /// thread.
    #[serde(default)]
    children: BTreeSet<i32>,
    /// The CPUs of the process's first thread, which new threads usually have.
    first: CpuSet,
}

/// Binds threads of servers that this program did not start. Their affinities are restored when it is dropped or, after
/// a kill, when the next run, load or `tare restore` begins.
#[derive(Debug)]
pub struct ThreadAffinities {
    journal: Journal,
    boot: String,
    entries: Vec<Entry>,
}

impl ThreadAffinities {
    /// A new value, with nothing bound. Only the holder of the host lock may write the journal. The caller must already
    /// have restored what a killed run left ([`super::recover`]).
    pub fn new(state_dir: &Path, _lock: &HostLock) -> Self {
        let boot = boot_id(&System::real());
        Self { journal: Journal::of_affinities(state_dir), boot, entries: Vec::new() }
    }

    /// Binds threads, each to its CPUs. Their original affinities are on disk before the first one is bound. With
    /// `may_be_gone`, threads that end meanwhile are no error, because a server's helper threads come and go.
    ///
    /// # Errors
    /// When a thread has ended or may not be bound; when the journal cannot be written, and then nothing is bound.
    pub fn bind(&mut self, wanted: &[(ThreadRef, CpuSet)], may_be_gone: bool) -> Result<()> {
        let mut new = Vec::new();
        for (thread, cpus) in wanted {
            match self.entry(*thread, cpus, &new) {
                Ok(entry) => new.push(entry),
                Err(Gone) if may_be_gone => {}
                Err(Gone) => return Err(AffinityError::NoThread { thread: *thread }.into()),
            }
        }
        self.journal.append(&new)?;
        self.entries.extend(new.iter().cloned());
        for entry in new {
            crash::point("affinity: before it is set");
            match bind_thread(entry.thread, &entry.wrote) {
                Err(AffinityError::NoThread { .. }) if may_be_gone => {}
                bound => bound?,
            }
            crash::point("affinity: set");
        }
        Ok(())
    }

    fn entry(&self, thread: ThreadRef, cpus: &CpuSet, new: &[Entry]) -> std::result::Result<Entry, Gone> {
        let of_process = self.entries.iter().chain(new).find(|entry| entry.thread.pid == thread.pid);
        let known = match of_process {
            Some(_) => BTreeSet::new(),
            None => observe::threads_of(thread.pid)?.into_iter().map(|thread| thread.tid).collect(),
        };
        let children = match of_process {
            Some(_) => BTreeSet::new(),
            None => observe::descendants(thread.pid).into_iter().collect(),
        };
        let first = match of_process {
            Some(entry) => entry.first.clone(),
            None => self.before(ThreadRef::main_of(thread.pid), new)?,
        };
        Ok(Entry {
            v: VERSION,
            boot: self.boot.clone(),
            thread,
            started: observe::started_ticks(thread)?,
            found: self.before(thread, new)?,
            wrote: cpus.clone(),
            known,
            children,
            first,
        })
    }

    /// The CPUs that a thread has, or would have if it had not been created by a thread that this program bound.
    fn before(&self, thread: ThreadRef, new: &[Entry]) -> std::result::Result<CpuSet, AffinityError> {
        let now = affinity_of(thread)?;
        let entries = || self.entries.iter().chain(new);
        let has_its_cpus = |of: &Entry| entries().any(|entry| entry.thread.pid == of.thread.pid && entry.wrote == now);
        let is_heir = |of: &Entry| match of.thread.pid == thread.pid {
            true => !of.known.contains(&thread.tid),
            false => !of.children.contains(&thread.pid) && observe::descendants(of.thread.pid).contains(&thread.pid),
        };
        // Descendants are checked last, because that walks through /proc.
        let maker = entries().find(|of| !of.known.is_empty() && of.first != now && has_its_cpus(of) && is_heir(of));
        Ok(maker.map_or(now, |of| of.first.clone()))
    }

    /// Restores every affinity and reads it back. It is idempotent.
    ///
    /// # Errors
    /// When the journal cannot be rewritten. A thread that could not be restored, or that another program has bound
    /// meanwhile, is in the report: see [`RestoreReport::check`].
    pub fn put_back(&mut self) -> Result<RestoreReport> {
        if self.entries.is_empty() {
            return Ok(RestoreReport::default());
        }
        let (report, left) = undo(&self.entries, &self.boot);
        self.journal.replace(&left)?;
        self.entries = left;
        Ok(report)
    }
}

impl Drop for ThreadAffinities {
    fn drop(&mut self) {
        // What cannot be restored stays in the journal, and the next start reports it.
        let _ = self.put_back();
    }
}

/// A thread that has ended, or can no longer be observed.
struct Gone;

impl From<ObserveError> for Gone {
    fn from(_: ObserveError) -> Self {
        Self
    }
}

impl From<AffinityError> for Gone {
    fn from(_: AffinityError) -> Self {
        Self
    }
}

/// Restores the affinities that a killed run left.
pub(super) fn recover(state_dir: &Path) -> Result<RestoreReport> {
    let journal = Journal::of_affinities(state_dir);
    let (entries, torn_lines) = journal.load::<Entry>()?;
    let (mut report, left) = undo(&entries, &boot_id(&System::real()));
    if journal.exists() {
        journal.replace(&left)?;
    }
    report.torn_lines = torn_lines;
    Ok(report)
}

/// Threads that are still bound by a killed run, as text.
pub(super) fn left(state_dir: &Path) -> Result<Vec<String>> {
    let (entries, _) = Journal::of_affinities(state_dir).load::<Entry>()?;
    let boot = boot_id(&System::real());
    let here = entries.iter().filter(|entry| entry.boot == boot && entry.is_alive());
    Ok(here.map(|entry| format!("the {SETTING} of {} is not restored yet", entry.thread)).collect())
}

impl Entry {
    fn is_alive(&self) -> bool {
        observe::started_ticks(self.thread).is_ok_and(|started| started == self.started)
    }
}

/// Restores the affinities of entries. Returns a report, and the entries that could not be restored.
fn undo(entries: &[Entry], boot: &str) -> (RestoreReport, Vec<Entry>) {
    let (mut report, mut left, mut seen) = (RestoreReport::default(), Vec::new(), BTreeSet::new());
    // The first entry of a thread has its original affinity.
    for entry in entries.iter().filter(|entry| entry.boot == boot) {
        if !seen.insert((entry.thread, entry.started)) || !entry.is_alive() {
            continue;
        }
        let of_thread = |other: &&Entry| (other.thread, other.started) == (entry.thread, entry.started);
        let ours: Vec<&CpuSet> = entries.iter().filter(of_thread).map(|entry| &entry.wrote).collect();
        let outcome = put_back(entry.thread, &entry.found, &ours);
        if matches!(outcome, Outcome::Failed { .. }) {
            left.extend(entries.iter().filter(of_thread).cloned());
        }
        report.files.push(restored(entry.thread, outcome));
    }
    let processes: BTreeSet<i32> = seen.iter().map(|(thread, _)| thread.pid).collect();
    for pid in processes {
        report.files.extend(heirs(entries, pid));
    }
    report.files.retain(|file| file.outcome != Outcome::Gone);
    (report, left)
}

fn put_back(thread: ThreadRef, found: &CpuSet, ours: &[&CpuSet]) -> Outcome {
    let failed = |error: AffinityError| match error {
        AffinityError::NoThread { .. } => Outcome::Gone,
        error => Outcome::Failed { error: error.to_string() },
    };
    match affinity_of(thread) {
        Ok(now) if now == *found => Outcome::AlreadyThere,
        Ok(now) if !ours.contains(&&now) => {
            Outcome::ChangedByOther { found: now.to_string(), original: found.to_string() }
        }
        Ok(_) => {
            crash::point("affinity: before it is put back");
            let outcome = bind_thread(thread, found).map_or_else(failed, |()| Outcome::Restored);
            crash::point("affinity: put back");
            outcome
        }
        Err(error) => failed(error),
    }
}

/// Restores threads and processes that bound ones created meanwhile and that inherited their CPUs. On a server with a
/// process per connection, these include processes of other programs' clients.
fn heirs(entries: &[Entry], pid: i32) -> Vec<Restored> {
    let of_process: Vec<&Entry> = entries.iter().filter(|entry| entry.thread.pid == pid).collect();
    // Another process may have got the number of one that ended.
    if !of_process.iter().any(|entry| entry.is_alive()) {
        return Vec::new();
    }
    let Some(first) = of_process.iter().find(|entry| !entry.known.is_empty()) else { return Vec::new() };
    let ours: Vec<&CpuSet> = of_process.iter().map(|entry| &entry.wrote).filter(|set| **set != first.first).collect();
    let threads = |pid: i32| observe::threads_of(pid).unwrap_or_default().into_iter();
    let of_children =
        observe::descendants(pid).into_iter().filter(|child| !first.children.contains(child)).flat_map(threads);
    let new = threads(pid).filter(|thread| !first.known.contains(&thread.tid)).chain(of_children);
    let bound = |thread: &ThreadRef| affinity_of(*thread).is_ok_and(|now| ours.contains(&&now));
    new.filter(|thread| bound(thread) && !entries.iter().any(|entry| entry.thread == *thread))
        .map(|thread| restored(thread, put_back(thread, &first.first, &ours)))
        .collect()
}

fn restored(thread: ThreadRef, outcome: Outcome) -> Restored {
    let path = format!("/proc/{}/task/{}", thread.pid, thread.tid);
    Restored { setting: SETTING.to_owned(), path, outcome }
}
