//! Ensures that no setting of an earlier trial is left on the machine before the next trial.

use super::affinity;
use super::entry::{Entry, Undo};
use super::file::{Journal, boot_id};
use super::outcome::RestoreReport;
use super::restore::put_back;
use crate::error::{NoiseError, Result};
use crate::lock::{NoTrial, Patience};
use crate::state_dir::ROOT_STATE_DIR;
use crate::system::System;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// Restores what a trial left that was killed or stopped for too long. The process that ends a trial must call this
/// before anything else is measured. The common lock of trials in `lock_dir` ensures that no trial is running.
///
/// # Errors
/// [`NoiseError::Locked`] when a trial still runs after `patience`; [`NoiseError::NotAsFound`] when a setting could not
/// be restored, or another program has changed it meanwhile; the errors of reading and writing the journal.
pub fn recover_trial(system: &System, state_dir: &Path, lock_dir: &Path, patience: Duration) -> Result<RestoreReport> {
    if !Journal::pending(state_dir) {
        return Ok(RestoreReport::default());
    }
    let _no_trial = NoTrial::wait(lock_dir, &Patience::of(patience))?;
    let report = put_back(system, state_dir)?;
    report.check()?;
    verify_as_found(system, state_dir)?;
    Ok(report)
}

/// Checks that every setting in the journal has its original value, and that root's journal has nothing left to
/// restore.
///
/// # Errors
/// [`NoiseError::NotAsFound`] with each setting that differs; the errors of reading the journal.
pub fn verify_as_found(system: &System, state_dir: &Path) -> Result<()> {
    let (entries, _) = Journal::new(state_dir).load::<Entry>()?;
    let boot = boot_id(system);
    let mut seen = BTreeSet::new();
    let first = entries.iter().filter(|entry| entry.boot == boot && seen.insert(entry.undo.path()));
    let mut left: Vec<String> = first.filter_map(|entry| difference(system, entry)).collect();
    left.extend(affinity::left(state_dir)?);
    let of_root = system.path(ROOT_STATE_DIR);
    if of_root != state_dir && Journal::pending(&of_root) {
        left.push(format!("a killed run of root left settings changed: they are listed in {}", of_root.display()));
    }
    if left.is_empty() { Ok(()) } else { Err(NoiseError::NotAsFound { left: left.join("; ") }) }
}

/// How the machine differs from the original value of an entry, as text.
fn difference(system: &System, entry: &Entry) -> Option<String> {
    let path = entry.undo.path();
    let reported = |what: String| Some(format!("{} ({path}) {what}", entry.setting));
    match &entry.undo {
        // The file has disappeared, for example with its device.
        _ if !system.exists(path) => None,
        Undo::File { format, original, .. } => {
            let (found, wanted) = (format.value(&system.read_optional(path)?), format.value(original));
            if found == wanted { None } else { reported(format!("is {found}, originally {wanted}")) }
        }
        Undo::Cgroup { .. } => reported("is still there".to_owned()),
        Undo::Controller { name, .. } => {
            let on = system.read_optional(path)?.split_whitespace().any(|word| word == name);
            if on { reported(format!("still has {name}")) } else { None }
        }
    }
}
