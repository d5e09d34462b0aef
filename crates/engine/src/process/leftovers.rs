//! What remains when this program is killed with SIGKILL, and how the next start removes it.
//!
//! While a server runs, one JSON file in the state directory names its owner (the process that started it), the
//! server process, the mark of every process that it starts, and its directories. A process is identified by number
//! *and* start time *and* boot, so a number that the kernel has reused is never killed.

use super::process_tree::{Identity, ProcessTree};
use crate::EngineError;
use crate::data::directories::not_private;
use procfs::process::Process;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tare_cpuset::observe;
use tare_files::{Access, PrivateFolder};
use tare_noise::System;

/// Limit on the size of a registration, bytes.
const LARGEST: u64 = 1 << 20;
/// How often removing a directory is tried, and the pause before the next attempt.
const REMOVALS: u32 = 10;
const BETWEEN_REMOVALS: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    boot_id: String,
    owner: Identity,
    /// The spawned process; none until it has been spawned.
    server: Option<Identity>,
    /// The server, if the spawned process is a wrapper that keeps running.
    behind: Option<Identity>,
    directories: Vec<PathBuf>,
    /// The tree of the server; none in a file from an older version.
    #[serde(default, alias = "family")]
    tree: Option<ProcessTree>,
}

impl Record {
    /// Processes that may still run, the wrapper first, because it would restart the server. A server that had not
    /// answered yet when its owner was killed is found by its mark, or by the process group of its wrapper together
    /// with a directory of this record on its command line.
    fn processes(&self) -> Vec<Identity> {
        let Some(spawned) = self.server else { return Vec::new() };
        let is_ours = |process: &Process| {
            let stat = process.stat().ok()?;
            if stat.pgrp != spawned.pid || stat.starttime < spawned.start_ticks {
                return None;
            }
            let line = observe::arguments(stat.pid).ok()?;
            let names_us = self.directories.iter().any(|directory| line.contains(&*directory.to_string_lossy()));
            names_us.then_some(Identity { pid: stat.pid, start_ticks: stat.starttime })
        };
        let all = procfs::process::all_processes().into_iter().flatten().flatten();
        let group = all.filter_map(|process| is_ours(&process)).filter(|process| *process != spawned);
        [spawned].into_iter().chain(self.behind).chain(group).collect()
    }
}

/// The registration of a server in the state directory, removed when dropped.
#[derive(Debug)]
pub(crate) struct Registration {
    folder: PrivateFolder,
    name: String,
    record: Record,
}

impl Registration {
    /// Registers the directories before they are created; [`Registration::started`] adds the server.
    pub(crate) fn begin(
        state_directory: &Path,
        directories: Vec<PathBuf>,
        tree: &ProcessTree,
    ) -> Result<Self, EngineError> {
        let folder = PrivateFolder::open_or_create(state_directory, Access::Closed).map_err(not_private)?;
        let owner = rustix::process::getpid().as_raw_nonzero().get();
        let owner = Identity::of(owner).ok_or_else(|| no_proc(owner))?;
        let directories = directories.iter().filter_map(|path| std::path::absolute(path).ok()).collect();
        let tree = Some(tree.clone());
        let record = Record { boot_id: boot_id(), owner, server: None, behind: None, directories, tree };
        static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("server-{}-{}-{number}.json", owner.pid, owner.start_ticks);
        let registration = Self { folder, name, record };
        registration.write()?;
        Ok(registration)
    }

    /// Adds the spawned server. Between the spawn and this call only the kernel's parent-death signal would end it.
    pub(crate) fn started(&mut self, pid: u32) -> Result<(), EngineError> {
        self.record.server = Identity::of(pid as i32);
        self.write()
    }

    /// Adds the server that answers behind a wrapper. The kernel kills only the wrapper with its parent.
    pub(crate) fn answered(&mut self, pid: u32) -> Result<(), EngineError> {
        self.record.behind = Identity::of(pid as i32);
        self.write()
    }

    fn write(&self) -> Result<(), EngineError> {
        let path = self.folder.path().join(&self.name);
        let text = serde_json::to_string(&self.record)
            .map_err(|source| EngineError::io("write the state file", &path, source.into()))?;
        self.folder.write(&self.name, text.as_bytes()).map_err(not_private)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // What could not be removed, as without descriptors, stays registered for the next start.
        if !self.record.directories.iter().any(|directory| fs::symlink_metadata(directory).is_ok()) {
            let _ = self.folder.remove(&self.name);
        }
    }
}

fn no_proc(pid: i32) -> EngineError {
    let path = PathBuf::from(format!("/proc/{pid}/stat"));
    EngineError::Directory { path, reason: "cannot be read; is /proc mounted?".to_owned() }
}

pub(crate) fn boot_id() -> String {
    tare_noise::boot_id(&System::real())
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reaped {
    /// The servers (and wrappers) that were still running and were killed.
    pub killed: Vec<u32>,
    pub removed: Vec<PathBuf>,
}

/// Kills servers whose owner died without stopping them, and removes their directories. Servers of a living owner are
/// left alone, so two runs can share a state directory. A missing state directory is no error.
pub fn reap_leftovers(state_directory: &Path) -> Result<Vec<Reaped>, EngineError> {
    // Whatever it lists is killed and removed, so no other user may have been able to write to it.
    let Some(folder) = PrivateFolder::open(state_directory, Access::Closed).map_err(not_private)? else {
        return Ok(Vec::new());
    };
    let names = folder.names().map_err(not_private)?.into_iter().filter(|name| is_state_file(name));
    let records: Vec<(String, Record)> = names.filter_map(|name| Some((name.clone(), read(&folder, &name)?))).collect();
    let boot = boot_id();
    let owned = |record: &Record| record.boot_id == boot && record.owner.lives();
    let in_use: Vec<&PathBuf> = records.iter().filter(|(_, r)| owned(r)).flat_map(|(_, r)| &r.directories).collect();
    let mut reaped = Vec::new();
    for (name, record) in records.iter().filter(|(_, record)| !owned(record)) {
        let processes = if record.boot_id == boot { record.processes() } else { Vec::new() };
        let killed = processes.into_iter().filter(|process| process.kill());
        let tree = record.tree.iter().filter(|_| record.boot_id == boot).flat_map(ProcessTree::end);
        let killed = killed.chain(tree).map(|process| process.pid as u32).collect();
        let mine = record.directories.iter().filter(|directory| !in_use.contains(directory));
        let (mut removed, mut stays) = (Vec::new(), false);
        for directory in mine.filter(|directory| fs::symlink_metadata(directory).is_ok()) {
            let gone = remove(directory);
            stays |= !gone;
            removed.extend(gone.then(|| directory.clone()));
        }
        // What could not be removed stays registered: the next start tries again.
        if !stays {
            let _ = folder.remove(name);
        }
        reaped.push(Reaped { killed, removed });
    }
    Ok(reaped)
}

/// Whether the directory is gone. A server that was just killed may still be creating a file in it.
fn remove(directory: &Path) -> bool {
    for _ in 0..REMOVALS {
        if fs::remove_dir_all(directory).is_ok() {
            return true;
        }
        std::thread::sleep(BETWEEN_REMOVALS);
    }
    false
}

fn is_state_file(name: &str) -> bool {
    name.starts_with("server-") && name.ends_with(".json")
}

/// None if it is not a registration, or not readable.
fn read(folder: &PrivateFolder, name: &str) -> Option<Record> {
    serde_json::from_slice(&folder.read(name, LARGEST).ok()??).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn dead_owner() -> Identity {
        Identity { start_ticks: 1, ..Identity::of(std::process::id() as i32).unwrap() }
    }

    fn plant(state: &Path, record: &Record) {
        fs::write(state.join("server-1-1-0.json"), serde_json::to_string(record).unwrap()).unwrap();
    }

    #[test]
    fn only_the_process_with_the_right_start_time_and_boot_is_killed() {
        let state = tempfile::tempdir().unwrap();
        let mut child = Command::new("sleep").arg("600").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let server = Identity::of(child.id() as i32).unwrap();
        let record = Record {
            boot_id: boot_id(),
            owner: dead_owner(),
            server: Some(server),
            behind: None,
            directories: vec![],
            tree: None,
        };

        let other = Identity { start_ticks: server.start_ticks + 1, ..server };
        plant(state.path(), &Record { server: Some(other), ..record.clone() });
        assert_eq!(reap_leftovers(state.path()).unwrap()[0].killed, Vec::<u32>::new());
        plant(state.path(), &Record { boot_id: "another".into(), ..record.clone() });
        assert_eq!(reap_leftovers(state.path()).unwrap()[0].killed, Vec::<u32>::new());
        assert!(child.try_wait().unwrap().is_none(), "a stranger was killed");

        plant(state.path(), &record);
        assert_eq!(reap_leftovers(state.path()).unwrap()[0].killed, [child.id()]);
        child.wait().unwrap();
        assert_eq!(reap_leftovers(state.path()).unwrap(), []);
    }

    #[test]
    fn a_directory_that_could_not_be_removed_stays_listed() {
        let (state, run) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let left = run.path().join("left");
        let directories = vec![left.clone()];
        let owner = dead_owner();
        plant(state.path(), &Record { boot_id: boot_id(), owner, server: None, behind: None, directories, tree: None });
        // Not a directory: its removal fails like that of one that a dying server is still filling.
        fs::write(&left, "").unwrap();
        assert_eq!(reap_leftovers(state.path()).unwrap()[0].removed, Vec::<PathBuf>::new());
        fs::remove_file(&left).unwrap();
        fs::create_dir(&left).unwrap();
        assert_eq!(reap_leftovers(state.path()).unwrap()[0].removed, std::slice::from_ref(&left));
        assert!(!left.exists() && reap_leftovers(state.path()).unwrap().is_empty());
    }

    #[test]
    fn directories_of_a_living_owner_are_kept() {
        let state = tempfile::tempdir().unwrap();
        let run = tempfile::tempdir().unwrap();
        let living = Registration::begin(state.path(), vec![run.path().to_owned()], &ProcessTree::planned()).unwrap();
        let same = vec![run.path().to_owned()];
        plant(
            state.path(),
            &Record {
                boot_id: boot_id(),
                owner: dead_owner(),
                server: None,
                behind: None,
                directories: same,
                tree: None,
            },
        );
        assert_eq!(reap_leftovers(state.path()).unwrap(), [Reaped { killed: vec![], removed: vec![] }]);
        assert!(run.path().exists() && state.path().join(&living.name).exists());
        // Its directory could not be removed: the next start must find it.
        drop(living);
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_state_directory_that_others_may_write_to_kills_and_removes_nothing() {
        let (state, victim) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut child = Command::new("sleep").arg("600").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let server = Identity::of(child.id() as i32);
        let directories = vec![victim.path().to_owned()];
        let owner = dead_owner();
        let tree = None;
        plant(state.path(), &Record { boot_id: boot_id(), owner, server, behind: None, directories, tree });
        fs::set_permissions(state.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let error = reap_leftovers(state.path()).unwrap_err().to_string();
        assert!(error.contains("others may write"), "{error}");
        assert!(Registration::begin(state.path(), Vec::new(), &ProcessTree::planned()).is_err());
        assert!(child.try_wait().unwrap().is_none() && victim.path().exists());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_missing_state_directory_and_a_broken_file_are_no_error() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(reap_leftovers(&state.path().join("absent")).unwrap(), []);
        fs::write(state.path().join("server-x.json"), "{").unwrap();
        assert_eq!(reap_leftovers(state.path()).unwrap(), []);
    }
}
