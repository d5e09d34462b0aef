//! An external program as a process: started, timed, and ended with all processes that it started.

use super::ProgramError;
use super::output::{LIMIT, Output};
use procfs::process::{Process, Stat};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, kill_process, kill_process_group, pidfd_open, set_child_subreaper,
};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tare_engine::{KILL_LIMIT, TaggedProcesses};
use tare_files::LogFile;

/// The program to run, with all placeholders filled in.
#[derive(Debug, Clone, Default)]
pub struct Job {
    pub words: Vec<String>,
    pub environment: Vec<(String, OsString)>,
    /// Working directory; None: the directory where tare was started.
    pub directory: Option<PathBuf>,
    pub log: Option<LogFile>,
    pub discard: bool,
    /// Beginnings of the names of variables that it must not inherit.
    pub without: &'static [&'static str],
}

/// Variables by which clients of PostgreSQL, MySQL and MariaDB choose another server than the one on their command
/// line (`PGHOSTADDR`, a service), or change their sessions (`PGOPTIONS`). Those of encryption stay.
pub(crate) const OF_SESSIONS: &[&str] = &[
    "PGHOST",
    "PGSERVICE",
    "PGSYSCONFDIR",
    "PGPASS",
    "PGOPTIONS",
    "PGTZ",
    "PGDATESTYLE",
    "PGGEQO",
    "PGCLIENTENCODING",
    "PGTARGETSESSIONATTRS",
    "MYSQL",
    "LIBMYSQL",
];

impl Job {
    pub(crate) fn program(&self) -> String {
        self.words.first().cloned().unwrap_or_default()
    }
}

#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    /// From just before its start to its end, seconds.
    pub wall_s: f64,
    pub usage: Usage,
    /// Its standard output, up to 16 MiB.
    pub text: String,
    pub tail: Vec<String>,
    /// Processes that it left running, and that were killed.
    pub left: Vec<String>,
}

/// A running program. Dropping it kills the program and all processes that it started.
pub(crate) struct Running {
    program: String,
    pid: Pid,
    handle: OwnedFd,
    began: Instant,
    ended: Option<Instant>,
    before: BTreeSet<i32>,
    output: Option<Output>,
    reaped: bool,
    /// If this process is killed, the next start finds the remaining processes by this tag and ends them.
    marked: TaggedProcesses,
}

impl Running {
    /// Starts the program with the CPU affinity and memory policy of the calling thread.
    pub(crate) fn start(job: &Job) -> Result<Self, ProgramError> {
        let program = job.program();
        let watch = |source: io::Error| ProgramError::Watch { program: program.clone(), source };
        // Orphaned processes of the program become children of this process, not of init.
        set_child_subreaper(Some(getpid())).map_err(|e| watch(e.into()))?;
        let log = job.log.as_ref().map(|log| {
            log.begin().map_err(|source| ProgramError::File { doing: "make", path: log.path(), source: source.into() })
        });
        let log = log.transpose()?;
        let mut command = Command::new(&program);
        command.args(job.words.iter().skip(1));
        let is_left_out = |name: &OsString| {
            job.without.iter().any(|beginning| name.as_encoded_bytes().starts_with(beginning.as_bytes()))
        };
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_left_out(name)) {
            command.env_remove(name);
        }
        command
            .envs(job.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(if job.discard { Stdio::null() } else { Stdio::piped() })
            .stderr(Stdio::piped())
            // Ctrl-C in the terminal reaches only tare, which then ends the program.
            .process_group(0);
        if let Some(directory) = &job.directory {
            command.current_dir(directory);
        }
        let listed = TaggedProcesses::list();
        let marked = listed.map_err(|e| ProgramError::List { program: program.clone(), source: Box::new(e) })?;
        marked.begin(&mut command);
        let before = children();
        let began = Instant::now();
        let mut child = command.spawn().map_err(|source| ProgramError::Start { program: program.clone(), source })?;
        let pid = Pid::from_child(&child);
        let output = child.stderr.take().map(|err| Output::read(child.stdout.take(), err, log)).transpose();
        let watched =
            output.map_err(io::Error::other).and_then(|output| Ok((output, pidfd_open(pid, PidfdFlags::empty())?)));
        let (output, handle) = match watched {
            Ok(watched) => watched,
            Err(e) => {
                // Neither its output nor its end could be observed.
                let _ = child.kill().and_then(|()| child.wait());
                return Err(watch(e));
            }
        };
        Ok(Self { program, pid, handle, began, ended: None, before, output, reaped: false, marked })
    }

    /// Its process id, valid until the process is reaped.
    pub(crate) fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Waits at most this long; returns whether the program has ended. It stays in the kernel's process table until
    /// [`Running::finish`].
    pub(crate) fn has_ended(&mut self, wait: Duration) -> Result<bool, ProgramError> {
        if self.ended.is_none() {
            let timeout = Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: i64::from(wait.subsec_nanos()) };
            let mut descriptors = [PollFd::new(&self.handle, PollFlags::IN)];
            if matches!(poll(&mut descriptors, Some(&timeout)), Ok(ready) if ready > 0) {
                self.ended = Some(Instant::now());
            }
        }
        match &self.output {
            Some(output) if output.is_flood() => {
                Err(ProgramError::Flood { program: self.program.clone(), limit: LIMIT, tail: output.tail() })
            }
            _ => Ok(self.ended.is_some()),
        }
    }

    /// CPU time of the program without its children, seconds; available after its end, until [`Running::finish`].
    pub(crate) fn alone_s(&self) -> f64 {
        let stat = Process::new(self.pid()).and_then(|process| process.stat());
        stat.map_or(0.0, |stat| (stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64)
    }

    /// A line that it has written since the last call.
    pub(crate) fn line(&self) -> Option<String> {
        self.output.as_ref().and_then(Output::line)
    }

    pub(crate) fn tail(&self) -> Vec<String> {
        self.output.as_ref().map(Output::tail).unwrap_or_default()
    }

    /// Collects status, resource usage and output of a program that has ended, and ends all processes that it started.
    pub(crate) fn finish(mut self) -> Result<Ended, ProgramError> {
        let ended = self.ended.unwrap_or_else(Instant::now);
        let mut left = Vec::new();
        orphans(&self.before, &self.marked).for_each(|stat| add_running(&stat, &mut left));
        // At once, so that none can fork meanwhile. Until the program is reaped, no other group can have its number.
        let _ = kill_process_group(self.pid, Signal::KILL);
        let (status, mut usage) = self.reap()?;
        end_all(&self.before, &self.marked, &mut left, &mut usage);
        let (text, tail) = self.output.take().map(Output::finish).unwrap_or_default();
        Ok(Ended { status, wall_s: ended.duration_since(self.began).as_secs_f64(), usage, text, tail, left })
    }

    fn reap(&mut self) -> Result<(ExitStatus, Usage), ProgramError> {
        self.reaped = true;
        reap(self.pid).map_err(|source| ProgramError::Watch { program: self.program.clone(), source })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        // The process has not been reaped, so its id has not been reused. It may have ended already.
        let _ = kill_process_group(self.pid, Signal::KILL);
        if kill_process(self.pid, Signal::KILL).is_err() {
            return; // Signals are not permitted; the process ends with the thread that started it.
        }
        let mut usage = self.reap().map(|(_, usage)| usage).unwrap_or_default();
        end_all(&self.before, &self.marked, &mut Vec::new(), &mut usage);
    }
}

fn children() -> BTreeSet<i32> {
    let tasks = Process::myself().and_then(|process| process.tasks()).into_iter().flatten().flatten();
    tasks.filter_map(|task| task.children().ok()).flatten().map(u32::cast_signed).collect()
}

const NAMED: usize = 20;

/// The processes that became children of this process since `before`, the newest first, because older ones may have
/// ended, and each as it is when it is taken. Orphans of a server become children of this process too, and end with it.
fn orphans(before: &BTreeSet<i32>, marked: &TaggedProcesses) -> impl Iterator<Item = Stat> {
    let new: Vec<i32> = children().difference(before).copied().collect();
    let found = new.into_iter().rev().filter(move |pid| !marked.is_anothers(*pid));
    found.filter_map(|pid| Process::new(pid).and_then(|process| process.stat()).ok())
}

fn add_running(stat: &Stat, left: &mut Vec<String>) {
    let name = format!("{} ({})", stat.comm, stat.pid);
    if stat.state != 'Z' && left.len() < NAMED && !left.contains(&name) {
        left.push(name);
    }
}

/// Kills the orphans, and their own children in turn, and adds those that were still running to `left`.
fn end_all(before: &BTreeSet<i32>, marked: &TaggedProcesses, left: &mut Vec<String>, usage: &mut Usage) {
    let deadline = Instant::now() + KILL_LIMIT;
    // By procfs: where its leader is outside the PID namespace it is 0, which the call's wrapper does not expect.
    let session = Process::myself().and_then(|own| own.stat()).ok().map(|stat| stat.session);
    loop {
        let mut killed = Vec::new();
        for stat in orphans(before, marked) {
            if Instant::now() >= deadline {
                left.push("others that start ever new processes".to_owned());
                return;
            }
            add_running(&stat, left);
            // In a session that the program has made, every process is its own: those that fork end all at once.
            if let Some(group) =
                Pid::from_raw(stat.pgrp.max(0)).filter(|_| session.is_some_and(|own| own != stat.session))
            {
                let _ = kill_process_group(group, Signal::KILL);
            }
            let Some(pid) = Pid::from_raw(stat.pid) else { continue };
            if kill_process(pid, Signal::KILL) == Err(Errno::PERM) {
                return;
            }
            killed.push(pid);
        }
        if killed.is_empty() {
            return;
        }
        // Another part of this process may have reaped one of them.
        killed.into_iter().filter_map(|pid| reap(pid).ok()).for_each(|(_, used)| usage.add(&used));
    }
}

const LOOK_EVERY: Duration = Duration::from_millis(50);

pub(crate) fn run_quietly(job: &Job, limit_s: f64, go_on: &dyn Fn() -> bool) -> Result<(), ProgramError> {
    let ended = to_its_end(job, limit_s, go_on)?;
    match ended.status.success() {
        true => Ok(()),
        false => Err(ProgramError::Failed { program: job.program(), status: ended.status, tail: ended.tail }),
    }
}

pub fn to_its_end(job: &Job, limit_s: f64, go_on: &dyn Fn() -> bool) -> Result<Ended, ProgramError> {
    let program = job.program();
    let mut running = Running::start(job)?;
    let began = Instant::now();
    while !running.has_ended(LOOK_EVERY)? {
        if !go_on() {
            return Err(ProgramError::Interrupted);
        }
        if began.elapsed().as_secs_f64() > limit_s {
            return Err(ProgramError::TimedOut { program, limit_s, tail: running.tail() });
        }
    }
    running.finish()
}

/// Resource usage of a process and of the children that it waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    pub user_s: f64,
    pub system_s: f64,
    /// Peak resident memory of the largest of them; `None` if it is smaller than that of this process, which the kernel
    /// counts too: a new process shares the memory of the one that starts it until it executes its program.
    pub peak_memory_bytes: Option<f64>,
    pub minor_faults: f64,
    /// Page faults that read from a disk.
    pub major_faults: f64,
    /// Times that one of them gave up its CPU, for instance to wait.
    pub voluntary_switches: f64,
    /// Times that the kernel preempted one of them.
    pub involuntary_switches: f64,
}

impl Usage {
    fn add(&mut self, other: &Self) {
        self.user_s += other.user_s;
        self.system_s += other.system_s;
        let peaks = [self.peak_memory_bytes, other.peak_memory_bytes];
        self.peak_memory_bytes = peaks.into_iter().flatten().reduce(f64::max);
        self.minor_faults += other.minor_faults;
        self.major_faults += other.major_faults;
        self.voluntary_switches += other.voluntary_switches;
        self.involuntary_switches += other.involuntary_switches;
    }

    pub(crate) fn cpu_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

/// The kernel's count of resident memory is inexact by some pages per CPU.
const INEXACT_BYTES: f64 = (1 << 20) as f64;

/// Peak resident memory of this process; infinite if it is not known.
fn own_peak_bytes() -> f64 {
    let status = Process::myself().and_then(|own| own.status()).ok();
    status.and_then(|own| own.vmhwm).map_or(f64::INFINITY, |kib| kib as f64 * 1024.0)
}

/// Waits for a child of this process to end, and removes it from the kernel's process table.
fn reap(pid: Pid) -> io::Result<(ExitStatus, Usage)> {
    let mut status = 0;
    // SAFETY: rusage is plain old data, for which all zeros is a valid value.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live values of the right types for the whole call.
        let waited = unsafe { libc::wait4(pid.as_raw_nonzero().get(), &raw mut status, 0, &raw mut used) };
        if waited >= 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let usage = Usage {
        user_s: seconds(used.ru_utime),
        system_s: seconds(used.ru_stime),
        // KiB on Linux (getrusage(2)).
        peak_memory_bytes: Some(used.ru_maxrss as f64 * 1024.0).filter(|peak| *peak > own_peak_bytes() + INEXACT_BYTES),
        minor_faults: used.ru_minflt as f64,
        major_faults: used.ru_majflt as f64,
        voluntary_switches: used.ru_nvcsw as f64,
        involuntary_switches: used.ru_nivcsw as f64,
    };
    Ok((ExitStatus::from_raw(status), usage))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    // Ending of child processes is tested in `tests/all/loads/commands.rs`: children belong to the whole test process.
    #[test]
    fn a_program_that_is_not_there_says_its_name() {
        let job = Job { words: vec!["no-such-program".into()], ..Job::default() };
        let error = Running::start(&job).err().unwrap().to_string();
        assert!(error.contains("no-such-program"), "{error}");
    }

    #[test]
    #[allow(clippy::zombie_processes, reason = "waiting for it is what is tested")]
    fn a_process_that_worked_is_reaped_with_what_it_and_its_children_used() {
        let script = "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; exit 3";
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let pid = Pid::from_child(&child);
        let (status, usage) = reap(pid).unwrap();
        assert_eq!(status.code(), Some(3));
        assert!(usage.cpu_s() > 0.01 && usage.cpu_s() < 60.0, "{usage:?}");
        assert!(usage.peak_memory_bytes.is_none() && usage.minor_faults > 10.0, "{usage:?}");
        assert!(reap(pid).is_err(), "it has been waited for");
        let large = Command::new("dd").args(["if=/dev/zero", "of=/dev/null", "bs=256M", "count=1"]).spawn().unwrap();
        let peak = reap(Pid::from_child(&large)).unwrap().1.peak_memory_bytes;
        assert!(peak.is_some_and(|bytes| (268e6..300e6).contains(&bytes)), "{peak:?}");
    }
}
