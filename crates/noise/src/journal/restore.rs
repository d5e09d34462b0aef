//! Restores the original values from the journal, and ensures that no setting of an earlier trial is left on the
//! machine before the next trial.

use super::affinity;
use super::file::{Entry, Format, Journal, Undo, boot_id};
use super::outcome::{Outcome, RestoreReport, Restored};
use crate::cache_monitor::remove_left_groups;
use crate::error::{NoiseError, Result};
use crate::lock::{HostLock, NoTrial, Patience};
use crate::state_dir::ROOT_STATE_DIR;
use crate::system::System;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Restores everything in the journal of `state_dir`, as left by a run that was killed. `tare restore` and the start of
/// every [`crate::Session`] call this. It is idempotent, even if it is killed and run again.
///
/// The host lock proves that no running run is undone.
///
/// # Errors
/// When the journal cannot be read or rewritten. A file that cannot be restored is not an error: see
/// [`RestoreReport::failed`].
pub fn recover(system: &System, state_dir: &Path, _lock: &HostLock) -> Result<RestoreReport> {
    let mut report = put_back(system, state_dir)?;
    report.files.extend(remove_left_groups(system));
    Ok(report)
}

/// As [`recover`], for callers that have another proof that no running run is undone.
pub(crate) fn put_back(system: &System, state_dir: &Path) -> Result<RestoreReport> {
    let journal = Journal::new(state_dir);
    let settings = journal.load::<Entry>().and_then(|(entries, torn_lines)| {
        let (report, _) = undo_all(system, &journal, &entries, |_| true)?;
        Ok(RestoreReport { torn_lines, ..report })
    });
    // Even if the settings could not be restored.
    let affinities = affinity::recover(state_dir)?;
    let mut report = settings?;
    report.torn_lines += affinities.torn_lines;
    report.files.extend(affinities.files);
    Ok(report)
}

/// Undoes the entries whose setting `wanted` accepts, rewrites the journal, and returns the remaining entries.
pub(crate) fn undo_all(
    system: &System,
    journal: &Journal,
    entries: &[Entry],
    wanted: impl Fn(&str) -> bool,
) -> Result<(RestoreReport, Vec<Entry>)> {
    let mut report = RestoreReport::default();
    let mut left: Vec<Entry> = entries.iter().filter(|e| !wanted(&e.setting)).cloned().collect();
    let boot = boot_id(system);
    for path in order(entries).into_iter().filter(|(setting, _)| wanted(setting)) {
        let of_path: Vec<&Entry> = entries.iter().filter(|e| (e.setting.as_str(), e.undo.path()) == path).collect();
        let outcome = match of_path.iter().any(|e| e.boot != boot) {
            true => Outcome::OtherBoot,
            false => undo(system, &of_path).unwrap_or_else(|e| Outcome::Failed { error: e.to_string() }),
        };
        if matches!(outcome, Outcome::Failed { .. }) {
            left.extend(of_path.into_iter().cloned());
        }
        report.files.push(Restored { setting: path.0.to_owned(), path: path.1.to_owned(), outcome });
    }
    if journal.exists() {
        journal.replace(&left)?;
    }
    Ok((report, left))
}

/// Settings and files in the order of restoring: the setting that was set last first, because a later one may depend on
/// an earlier one; the files of one setting in the order of recording (SMT first, then the CPUs that it switched).
fn order(entries: &[Entry]) -> Vec<(&str, &str)> {
    let mut settings: Vec<&str> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut files: Vec<(&str, &str)> = Vec::new();
    for entry in entries {
        let key = (entry.setting.as_str(), entry.undo.path());
        if !settings.contains(&key.0) {
            settings.push(key.0);
        }
        if seen.insert(key) {
            files.push(key);
        }
    }
    let position = |setting: &str| settings.iter().position(|s| *s == setting);
    files.sort_by_key(|(setting, _)| std::cmp::Reverse(position(setting)));
    files
}

fn undo(system: &System, entries: &[&Entry]) -> Result<Outcome> {
    let Some(first) = entries.first() else { return Ok(Outcome::AlreadyThere) };
    check_path(first.undo.path())?;
    if !system.exists(first.undo.path()) {
        return Ok(Outcome::Gone);
    }
    match &first.undo {
        Undo::File { path, format, original, .. } => undo_file(system, entries, path, *format, original),
        Undo::Cgroup { path } => remove_cgroup(system, path),
        Undo::Controller { path, name } => {
            let on = |text: String| text.split_whitespace().any(|w| w == name);
            if !on(system.read(path)?) {
                return Ok(Outcome::AlreadyThere);
            }
            system.write(path, &format!("-{name}"))?;
            Ok(Outcome::Restored)
        }
    }
}

fn undo_file(system: &System, entries: &[&Entry], path: &str, format: Format, original: &str) -> Result<Outcome> {
    let wanted = format.value(original);
    let found = format.value(&system.read(path)?);
    if found == wanted {
        return Ok(Outcome::AlreadyThere);
    }
    let ours = entries.iter().any(|e| match &e.undo {
        Undo::File { wrote: Some(wrote), .. } => format.value(wrote) == found,
        Undo::File { wrote: None, .. } => true,
        _ => false,
    });
    if !ours {
        return Ok(Outcome::ChangedByOther { found, original: wanted });
    }
    system.write(path, &format.written(original))?;
    let found = format.value(&system.read(path)?);
    if found == wanted {
        Ok(Outcome::Restored)
    } else {
        Ok(Outcome::Failed { error: format!("{path} reads {found:?} after {wanted:?} was written") })
    }
}

/// Checks that a path is that of a setting, so that a damaged journal cannot make root write elsewhere.
fn check_path(path: &str) -> Result<()> {
    let settings = ["/proc/sys/", "/proc/irq/", "/sys/"];
    if settings.iter().any(|s| path.starts_with(s)) && !path.split('/').any(|part| part == "..") {
        return Ok(());
    }
    Err(NoiseError::Format {
        path: path.into(),
        expected: "a path of a setting",
        found: path.chars().take(80).collect(),
    })
}

/// Moves the remaining processes of a control group to its parent, and removes the group.
fn remove_cgroup(system: &System, path: &str) -> Result<Outcome> {
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let mut last = io::Error::from(io::ErrorKind::Other);
    // First returns its CPUs: a group that is removed while it is a partition returns them only some time later. A
    // group whose creation was interrupted has none.
    let _ = system.write(&format!("{path}/cpuset.cpus.partition"), "member");
    // The kernel releases a group a moment after the end of its last process.
    for _ in 0..100 {
        for pid in system.read_optional(&format!("{path}/cgroup.procs")).unwrap_or_default().split_whitespace() {
            // The process may have ended meanwhile.
            let _ = system.write(&format!("{parent}/cgroup.procs"), pid);
        }
        match system.remove_group(path) {
            Ok(()) => return Ok(Outcome::Restored),
            Err(e) => last = e,
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(NoiseError::Write { action: "remove", path: system.path(path), source: last })
}

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
    let mut left: Vec<String> = first.filter_map(|entry| difference_from_original(system, entry)).collect();
    left.extend(affinity::left(state_dir)?);
    let of_root = system.path(ROOT_STATE_DIR);
    if of_root != state_dir && Journal::pending(&of_root) {
        left.push(format!("a killed run of root left settings changed: they are listed in {}", of_root.display()));
    }
    if left.is_empty() { Ok(()) } else { Err(NoiseError::NotAsFound { left: left.join("; ") }) }
}

/// How the machine differs from the original value of an entry, as text.
fn difference_from_original(system: &System, entry: &Entry) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::super::file::VERSION;
    use super::*;

    #[test]
    fn the_setting_that_was_set_last_is_first_and_its_files_are_as_recorded() {
        let entry = |setting: &str, path: &str| Entry {
            v: VERSION,
            boot: String::new(),
            setting: setting.to_owned(),
            undo: Undo::Cgroup { path: path.to_owned() },
        };
        let all = [entry("smt", "a"), entry("smt", "b"), entry("thp", "c"), entry("smt", "a"), entry("turbo", "d")];
        assert_eq!(order(&all), [("turbo", "d"), ("thp", "c"), ("smt", "a"), ("smt", "b")]);
    }
}
