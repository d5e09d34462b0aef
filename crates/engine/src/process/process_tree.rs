//! A server and all processes that it starts, also those in a session of their own or whose parent has ended.
//!
//! A control group holds them all, if this process may create one. Otherwise they are found by a variable in their
//! environment; those that have cleared or changed it are found because they become children of this process when
//! their parent ends (`PR_SET_CHILD_SUBREAPER`), in another session or process group.

use procfs::process::{Process, Stat};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal, set_child_subreaper};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tare_cpuset::observe;
use tare_noise::{ControlGroup, MemoryConfines, MemoryGroup};
use tare_results::schema::Outlived;

/// The environment variable that marks what a server starts. Its value always has the same length, so that it shifts
/// the stack of every server by the same amount.
const MARK: &str = "TARE_SERVER";
/// How long to keep killing processes that fork again and again.
pub const KILL_LIMIT: Duration = Duration::from_secs(5);
/// How long a helper process may take to notice that its server has ended.
const NOTICE: Duration = Duration::from_millis(300);

/// Marks of the trees of this process that have not ended. A process with any other mark has changed it itself.
static MARKS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Open files of control groups: a process that writes `0` to them joins the groups.
#[derive(Debug, Default)]
pub(crate) struct GroupFiles {
    pub group: Option<File>,
    /// The groups that confine its memory. Joining one for nodes resets the affinity, which the child restores.
    pub memory: Vec<File>,
    /// The group that limits its caches and memory bandwidth.
    pub limits: Option<File>,
}

/// All processes of one server. It can be stored, and used by another process after a kill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessTree {
    /// 16 hexadecimal digits.
    mark: String,
    group: Option<ControlGroup>,
    #[serde(default)]
    confined: Vec<MemoryGroup>,
    /// The `tasks` file of the group that limits it; the caller owns that group.
    #[serde(skip)]
    limits: Option<PathBuf>,
    /// Children that this process had before; none if a group holds the tree, or in another process.
    #[serde(skip)]
    before: Option<BTreeSet<i32>>,
}

impl ProcessTree {
    /// A new tree, without any process yet.
    pub(crate) fn planned() -> Self {
        let tree = Self::without_group();
        let group = ControlGroup::planned(&tree.mark);
        let before = group.is_none().then(|| {
            let own = getpid().as_raw_nonzero().get();
            stats().into_values().filter(|stat| stat.ppid == own).map(|stat| stat.pid).collect()
        });
        Self { group, before, ..tree }
    }

    /// A new tree with confined memory, whatever memory policy the server sets itself.
    pub(crate) fn confined(confines: &MemoryConfines) -> Result<Self, String> {
        let tree = Self::without_group();
        let confined = MemoryGroup::planned(&tree.mark, confines)?;
        // With cgroup version 2 a process is in one group only.
        let alone = confined.iter().any(MemoryGroup::holds_alone);
        let group = if alone { None } else { ControlGroup::planned(&tree.mark) };
        Ok(Self { group, confined, ..tree })
    }

    /// A tree without a control group; its processes are found by their mark alone.
    pub(crate) fn without_group() -> Self {
        // The hasher of a new `RandomState` has keys from the system's random numbers.
        let mark = format!("{:016x}", std::hash::RandomState::new().build_hasher().finish());
        marks().insert(mark.clone());
        Self { mark, group: None, confined: Vec::new(), limits: None, before: None }
    }

    /// The same tree, limited by the group with this `tasks` file.
    pub(crate) fn limited(self, limits: Option<PathBuf>) -> Self {
        Self { limits, ..self }
    }

    /// Whether a process with this environment variable belongs to another tree of this process.
    pub(crate) fn is_anothers(&self, variable: &str) -> bool {
        let mark = value(variable);
        mark != Some(&self.mark) && mark.is_some_and(|mark| marks().contains(mark))
    }

    /// From now on a process with its mark belongs to no tree.
    pub(crate) fn forget(&self) {
        marks().remove(&self.mark);
    }

    /// Marks the command. Returns the files to which its process must write `0` before exec, to join the groups.
    pub(crate) fn begin(&self, command: &mut Command) -> io::Result<GroupFiles> {
        command.env(MARK, &self.mark);
        let group = self.group.as_ref().and_then(|group| group.make().ok());
        // If this fails, reading the setting back from the server reports it.
        let memory: Vec<File> = self.confined.iter().filter_map(|confined| confined.make().ok()).collect();
        if group.is_none() && memory.is_empty() {
            // Fails only on kernels before 3.4.
            let _ = set_child_subreaper(Some(getpid()));
        }
        let open = |tasks: &PathBuf| File::options().write(true).open(tasks);
        Ok(GroupFiles { group, memory, limits: self.limits.as_ref().map(open).transpose()? })
    }

    /// That a limit of its memory was reached, and the kernel therefore killed a process of it.
    pub(crate) fn lack_of_memory(&self) -> Option<String> {
        self.confined.iter().find_map(MemoryGroup::lack_of_memory)
    }

    fn groups(&self) -> impl Iterator<Item = &ControlGroup> {
        self.group.iter().chain(self.confined.iter().map(MemoryGroup::group))
    }

    pub(crate) fn members(&self) -> Vec<Identity> {
        let own = getpid().as_raw_nonzero().get();
        let mut pids: BTreeSet<i32> = self.groups().flat_map(ControlGroup::processes).collect();
        let all = stats();
        for stat in all.values().filter(|stat| stat.state != 'Z') {
            match mark_of(stat.pid) {
                Some(found) if value(&found) == Some(&self.mark) => drop(pids.insert(stat.pid)),
                Some(found) if self.is_anothers(&found) => {}
                _ if self.is_adopted(stat, &all, own) => drop(pids.insert(stat.pid)),
                _ => {}
            }
        }
        pids.remove(&own);
        pids.into_iter().filter_map(Identity::of).collect()
    }

    /// Whether the process, or an ancestor, became a child of this process when its parent ended.
    fn is_adopted(&self, stat: &Stat, all: &BTreeMap<i32, Stat>, own: i32) -> bool {
        let Some(this) = all.get(&own) else { return false };
        let mut at = stat;
        // A process list that changes while it is read may contain anything, even a cycle.
        for _ in 0..all.len() {
            if at.ppid == own {
                // This program starts no child in a session of its own, and marks those in a group of their own.
                return at.session != this.session || at.pgrp != this.pgrp && self.is_new(at.pid);
            }
            match all.get(&at.ppid) {
                Some(parent) => at = parent,
                None => return false,
            }
        }
        false
    }

    /// Whether a child of this process is neither older than this tree nor part of another one.
    fn is_new(&self, child: i32) -> bool {
        let is_anothers = || mark_of(child).is_some_and(|mark| self.is_anothers(&mark));
        self.before.as_ref().is_some_and(|before| !before.contains(&child)) && !is_anothers()
    }

    /// Ends all running processes, including those that are forked meanwhile. Returns them.
    pub(crate) fn kill(&self) -> Vec<Identity> {
        // First all at once. Only what no group holds has to be found, and may fork while it is sought.
        let mut ended: Vec<Identity> =
            self.groups().flat_map(ControlGroup::processes).filter_map(Identity::of).collect();
        self.groups().for_each(ControlGroup::kill);
        ended.retain(|member| !member.lives());
        let deadline = Instant::now() + KILL_LIMIT;
        loop {
            let found = self.members();
            if found.is_empty() || Instant::now() >= deadline {
                return ended;
            }
            let gone: Vec<Identity> = found.into_iter().filter(|member| member.kill() || !member.lives()).collect();
            // Processes that may not be signalled are not tried again.
            if gone.is_empty() {
                return ended;
            }
            ended.extend(gone);
        }
    }

    /// Ends all processes and removes the control groups.
    pub(crate) fn end(&self) -> Vec<Identity> {
        let ended = self.kill();
        self.groups().for_each(ControlGroup::remove);
        self.forget();
        ended
    }

    /// Processes that outlive a server after a clean shutdown. Processes of the group `expected` are
    /// left out, because that group ends with the server.
    pub(crate) fn outliving(&self, expected: i32) -> Vec<Outlived> {
        let deadline = Instant::now() + NOTICE;
        let strangers = || {
            let stats = self.members().into_iter().filter_map(|m| Process::new(m.pid).and_then(|p| p.stat()).ok());
            stats.filter(|stat| stat.pgrp != expected).collect::<Vec<Stat>>()
        };
        loop {
            let left = strangers();
            if left.is_empty() || Instant::now() >= deadline {
                return left.into_iter().map(|stat| Outlived { pid: stat.pid, name: stat.comm }).collect();
            }
            sleep(Duration::from_millis(10));
        }
    }
}

fn stats() -> BTreeMap<i32, Stat> {
    let all = procfs::process::all_processes().into_iter().flatten().flatten().filter_map(|p| p.stat().ok());
    all.map(|stat| (stat.pid, stat)).collect()
}

fn marks() -> MutexGuard<'static, BTreeSet<String>> {
    MARKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The mark in an environment variable, if it is one.
fn value(variable: &str) -> Option<&str> {
    variable.strip_prefix(MARK)?.strip_prefix('=')
}

/// The mark in the environment of a process, with the variable's name; it identifies the server.
pub(crate) fn mark_of(pid: i32) -> Option<String> {
    let environment = observe::environment(pid).ok()?;
    let name = MARK.as_bytes();
    let found = environment
        .split(|byte| *byte == 0)
        .find(|entry| entry.strip_prefix(name).is_some_and(|value| value.first() == Some(&b'=')))?;
    Some(String::from_utf8_lossy(found).into_owned())
}

/// Time limit for a killed process to end.
const GONE: Duration = Duration::from_secs(10);

/// A process of this boot, identified by number *and* start time: a reused number is another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub pid: i32,
    /// Field 22 of `/proc/<pid>/stat`: start time in clock ticks after boot.
    pub start_ticks: u64,
}

impl Identity {
    /// The process with this number, unless it has ended.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        let stat = Process::new(pid).and_then(|process| process.stat()).ok()?;
        // A zombie has ended.
        (stat.state != 'Z').then_some(Self { pid, start_ticks: stat.starttime })
    }

    pub(crate) fn lives(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Kills it unless its number belongs to another process by now, and waits until it is gone.
    pub(crate) fn kill(self) -> bool {
        let Some(pid) = Pid::from_raw(self.pid) else { return false };
        // Opened before the check: from then on the descriptor refers to one process only.
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
        if !self.lives() || pidfd_send_signal(&handle, Signal::KILL).is_err() {
            return false;
        }
        let deadline = Instant::now() + GONE;
        while self.lives() && Instant::now() < deadline {
            sleep(Duration::from_millis(2));
        }
        true
    }
}
