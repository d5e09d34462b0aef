//! A server and all that it starts, however far that goes: into a session of its own, behind a parent that ends.
//!
//! A control group holds them all, where this process may make one. Everywhere else they are found by a variable in
//! their environment, and those that have cleared it by having become this process's own children when their parent
//! ended (`PR_SET_CHILD_SUBREAPER`).

use procfs::process::{Process, Stat};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal, set_child_subreaper};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tare_cpuset::observe;
use tare_noise::{ControlGroup, MemoryConfines, MemoryGroup};

/// The variable that marks what a server starts. Its value always has the same length, so that every server has its
/// stack at the same place.
const MARK: &str = "TARE_SERVER";
/// How long what forks again and again is hunted.
const HUNT: Duration = Duration::from_secs(5);
/// How long a helper may take to notice that its server has ended.
const NOTICE: Duration = Duration::from_millis(300);

#[derive(Debug, Default)]
pub(crate) struct Doors {
    pub group: Option<File>,
    /// Of those that confine its memory; the CPUs of one for nodes are all, so those of the process are taken up again.
    pub memory: Vec<File>,
    /// Of the one that limits its caches and bandwidth.
    pub limits: Option<File>,
}

/// All processes of one server. It can be written down, and taken up by another process after a kill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessTree {
    /// 16 hexadecimal digits.
    mark: String,
    group: Option<ControlGroup>,
    #[serde(default)]
    confined: Vec<MemoryGroup>,
    /// Where it enters the group that limits it: that group is the caller's.
    #[serde(skip)]
    limits: Option<PathBuf>,
}

impl ProcessTree {
    /// A new one, of which nothing is there yet.
    pub(crate) fn planned() -> Self {
        let tree = Self::without_group();
        Self { group: ControlGroup::planned(&tree.mark), ..tree }
    }

    /// A new one whose memory is confined, whatever policy it gives itself.
    pub(crate) fn confined(confines: &MemoryConfines) -> Result<Self, String> {
        let tree = Self::without_group();
        let confined = MemoryGroup::planned(&tree.mark, confines)?;
        // A process is in one group of version 2.
        let alone = confined.iter().any(MemoryGroup::holds_alone);
        let group = if alone { None } else { ControlGroup::planned(&tree.mark) };
        Ok(Self { group, confined, ..tree })
    }

    /// A family without a control group, found by its mark alone.
    pub(crate) fn without_group() -> Self {
        // Every new state of the standard library's hasher has keys from the system's random numbers.
        let mark = format!("{:016x}", std::hash::RandomState::new().build_hasher().finish());
        Self { mark, group: None, confined: Vec::new(), limits: None }
    }

    /// The same, limited by the group that is entered in this file.
    pub(crate) fn limited(self, limits: Option<PathBuf>) -> Self {
        Self { limits, ..self }
    }

    /// Whether this variable of an environment is its mark.
    pub(crate) fn has(&self, variable: &str) -> bool {
        variable.strip_prefix(MARK).and_then(|rest| rest.strip_prefix('=')) == Some(&self.mark)
    }

    /// Marks the command, and returns the doors through which its process must go before exec: by writing `0` there.
    ///
    /// # Errors
    /// When the group that limits it cannot be entered.
    pub(crate) fn begin(&self, command: &mut Command) -> io::Result<Doors> {
        command.env(MARK, &self.mark);
        let group = self.group.as_ref().and_then(|group| group.make().ok());
        // Where it fails, what is read back of the server is not what was asked for.
        let memory: Vec<File> = self.confined.iter().filter_map(|confined| confined.make().ok()).collect();
        if group.is_none() && memory.is_empty() {
            // Refused only by kernels before 3.4.
            let _ = set_child_subreaper(Some(getpid()));
        }
        let open = |tasks: &PathBuf| File::options().write(true).open(tasks);
        Ok(Doors { group, memory, limits: self.limits.as_ref().map(open).transpose()? })
    }

    fn groups(&self) -> impl Iterator<Item = &ControlGroup> {
        self.group.iter().chain(self.confined.iter().map(MemoryGroup::group))
    }

    pub(crate) fn members(&self) -> Vec<Identity> {
        let own = getpid().as_raw_nonzero().get();
        let mut pids: BTreeSet<i32> = self.groups().flat_map(ControlGroup::processes).collect();
        let all = procfs::process::all_processes().into_iter().flatten().flatten().filter_map(|p| p.stat().ok());
        let all: BTreeMap<i32, Stat> = all.map(|stat| (stat.pid, stat)).collect();
        for stat in all.values().filter(|stat| stat.state != 'Z') {
            match mark_of(stat.pid) {
                Some(found) if self.has(&found) => drop(pids.insert(stat.pid)),
                Some(_) => {}
                // None of ours is ever started into a session of its own.
                None if is_adopted(stat, &all, own) => drop(pids.insert(stat.pid)),
                None => {}
            }
        }
        pids.remove(&own);
        pids.into_iter().filter_map(Identity::of).collect()
    }

    /// Ends all that run, and returns them. What they fork meanwhile is ended too.
    pub(crate) fn kill(&self) -> Vec<Identity> {
        let deadline = Instant::now() + HUNT;
        let mut ended = Vec::new();
        loop {
            let found = self.members();
            self.groups().for_each(ControlGroup::kill);
            if found.is_empty() || Instant::now() >= deadline {
                return ended;
            }
            // The control group may have been quicker: what counts is what is gone.
            let gone: Vec<Identity> = found.into_iter().filter(|member| member.kill() || !member.lives()).collect();
            // Those that may be sent no signal are not hunted for.
            if gone.is_empty() {
                return ended;
            }
            ended.extend(gone);
        }
    }

    /// Ends all, and takes the control group away.
    pub(crate) fn end(&self) -> Vec<Identity> {
        let ended = self.kill();
        self.groups().for_each(ControlGroup::remove);
        ended
    }

    /// What outlives a server that has ended in good order, in words: not what is in the process group `expected`, for
    /// that ends with it as a rule.
    pub(crate) fn outliving(&self, expected: i32) -> Vec<String> {
        let deadline = Instant::now() + NOTICE;
        let strangers = || {
            let stats = self.members().into_iter().filter_map(|m| Process::new(m.pid).and_then(|p| p.stat()).ok());
            stats.filter(|stat| stat.pgrp != expected).collect::<Vec<Stat>>()
        };
        loop {
            let left = strangers();
            if left.is_empty() || Instant::now() >= deadline {
                return left.iter().map(|stat| format!("process {} ({})", stat.pid, stat.comm)).collect();
            }
            sleep(Duration::from_millis(10));
        }
    }
}

/// The mark in the environment of a process, and whose server it is of.
pub(crate) fn mark_of(pid: i32) -> Option<String> {
    let environment = observe::environment(pid).ok()?;
    let name = MARK.as_bytes();
    let found = environment
        .split(|byte| *byte == 0)
        .find(|entry| entry.strip_prefix(name).is_some_and(|value| value.first() == Some(&b'=')))?;
    Some(String::from_utf8_lossy(found).into_owned())
}

/// Whether it came to this process when its parent ended, or descends from one that did.
fn is_adopted(stat: &Stat, all: &BTreeMap<i32, Stat>, own: i32) -> bool {
    let session = all.get(&own).map(|stat| stat.session);
    let mut at = stat;
    // A list that changes while it is read may hold anything, a circle too.
    for _ in 0..all.len() {
        if at.ppid == own {
            return Some(at.session) != session;
        }
        match all.get(&at.ppid) {
            Some(parent) => at = parent,
            None => return false,
        }
    }
    false
}

/// How long a killed process may take to be gone.
const GONE: Duration = Duration::from_secs(10);

/// A process of this boot by number *and* start time: a number that the kernel gave to someone else is another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub pid: i32,
    /// Field 22 of `/proc/<pid>/stat`: clock ticks between boot and its start.
    pub start_ticks: u64,
}

impl Identity {
    /// The process of this number, unless it has ended.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        let stat = Process::new(pid).and_then(|process| process.stat()).ok()?;
        // A zombie runs nothing any more.
        (stat.state != 'Z').then_some(Self { pid, start_ticks: stat.starttime })
    }

    pub(crate) fn lives(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Kills it unless the number belongs to someone else by now, and waits until it is gone.
    pub(crate) fn kill(self) -> bool {
        let Some(pid) = Pid::from_raw(self.pid) else { return false };
        // Opened before the check: from then on the descriptor means one process only.
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
