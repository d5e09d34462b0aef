//! Samples of threads: where they run, how long they ran and waited, how often they migrated.

use super::error::ObserveError;
use super::proc_file::{optional, parse, proc_text};
use super::sighting::no_processor;
use super::thread_ref::ThreadRef;
use procfs::process::{Schedstat, Stat, Status};
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};
use std::time::Duration;
use std::{fmt, fs};

/// A thread at one moment. Counters run from the thread's start: subtract two samples.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct ThreadSample {
    /// Which thread this is.
    pub thread: ThreadRef,
    /// Its name, of at most 15 bytes.
    pub name: String,
    /// The CPU it runs on, or ran on last.
    pub cpu: u32,
    /// How often it gave up its CPU by itself, for example to wait.
    pub voluntary_switches: Option<u64>,
    /// How often the kernel preempted it.
    pub involuntary_switches: Option<u64>,
    /// Migrations from one CPU to another. `None` where the kernel does not report them (no CONFIG_SCHED_DEBUG).
    pub migrations: Option<u64>,
    /// CPU time in user mode, in steps of the clock tick (usually 0.01 s).
    pub user_s: f64,
    /// CPU time in the kernel, in the same steps.
    pub system_s: f64,
    /// Time on a CPU, exact. `None` where the kernel does not report it (no CONFIG_SCHED_INFO).
    pub run_ns: Option<u64>,
    /// Time runnable but waiting for a CPU.
    pub wait_ns: Option<u64>,
}

/// The threads of a process, by ascending number.
///
/// # Errors
/// When the process has ended.
pub fn threads_of(pid: i32) -> Result<Vec<ThreadRef>, ObserveError> {
    let path = format!("/proc/{pid}/task");
    let entries = fs::read_dir(&path).map_err(|e| ObserveError::of_io(&path, &e))?;
    let tids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut threads: Vec<ThreadRef> = tids.map(|tid| ThreadRef { pid, tid }).collect();
    threads.sort_unstable();
    Ok(threads)
}

/// The descendants that a process has now, without the process itself. A process that ends meanwhile has no children.
pub fn descendants(pid: i32) -> Vec<i32> {
    with_descendants(pid).split_off(1)
}

/// A process, first, and the descendants that it has now.
pub fn with_descendants(pid: i32) -> Vec<i32> {
    let children = |pid: i32| -> Vec<i32> {
        let of_each = threads_of(pid).unwrap_or_default().into_iter();
        let lists = of_each.filter_map(|thread| proc_text(&format!("{}/children", thread.folder())).ok());
        lists
            .flat_map(|list| list.split_ascii_whitespace().map_while(|pid| pid.parse().ok()).collect::<Vec<_>>())
            .collect()
    };
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        next += 1;
        found.extend(children(pid));
    }
    found
}

/// Samples of all threads of a process, by ascending number. Threads that end meanwhile are left out.
///
/// # Errors
/// When the process has ended, or a thread of it cannot be read.
pub fn threads(pid: i32) -> Result<Vec<ThreadSample>, ObserveError> {
    let samples = threads_of(pid)?.into_iter().map(thread);
    samples.filter(|sample| !matches!(sample, Err(ObserveError::Gone { .. }))).collect()
}

/// A sample of one thread. Reads four small files.
///
/// # Errors
/// When it has ended, or cannot be read.
pub fn thread(thread: ThreadRef) -> Result<ThreadSample, ObserveError> {
    let stat = stat(thread)?;
    let folder = thread.folder();
    let status: Status = parse(&format!("{folder}/status"))?;
    let schedstat: Option<Schedstat> = optional(parse(&format!("{folder}/schedstat")))?;
    let sched = format!("{folder}/sched");
    let sched = optional(proc_text(&sched).map_err(|e| ObserveError::of_io(&sched, &e)))?;
    let seconds = |ticks: u64| ticks as f64 / procfs::ticks_per_second() as f64;
    Ok(ThreadSample {
        thread,
        cpu: processor(&stat, thread)?,
        user_s: seconds(stat.utime),
        system_s: seconds(stat.stime),
        name: stat.comm,
        voluntary_switches: status.voluntary_ctxt_switches,
        involuntary_switches: status.nonvoluntary_ctxt_switches,
        migrations: sched.as_deref().and_then(migrations),
        run_ns: schedstat.as_ref().map(|s| s.sum_exec_runtime),
        wait_ns: schedstat.as_ref().map(|s| s.run_delay),
    })
}

/// Whether a thread runs, or what it sleeps in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadState {
    /// The letter of the state: R (runs, or waits for a CPU), S (asleep), D (asleep, mostly for a disk), T (stopped),
    /// and others of proc_pid_stat(5).
    pub letter: char,
    /// The function of the kernel in which it sleeps. `None` while it runs, and without the right to see it.
    pub sleeps_in: Option<String>,
}

impl fmt::Display for ThreadState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.letter {
            'R' => f.write_str("runs or waits for a CPU"),
            'S' => f.write_str("sleeps"),
            'D' => f.write_str("sleeps without interruption, mostly for a disk"),
            'T' | 't' => f.write_str("is stopped"),
            other => write!(f, "is in state {other}"),
        }?;
        self.sleeps_in.iter().try_for_each(|function| write!(f, " in {function}"))
    }
}

/// The state of a thread now. Reads two small files.
///
/// # Errors
/// When it has ended, or cannot be read.
pub fn state_of(thread: ThreadRef) -> Result<ThreadState, ObserveError> {
    let letter = stat(thread)?.state;
    let function = proc_text(&format!("{}/wchan", thread.folder())).ok();
    Ok(ThreadState { letter, sleeps_in: function.filter(|name| !name.is_empty() && name != "0") })
}

/// For how long a thread was runnable without a CPU since it began. `None` where the kernel does not report it (no
/// CONFIG_SCHED_INFO). Reads one small file.
pub fn waited(thread: ThreadRef) -> Option<Duration> {
    let spent: Schedstat = parse(&format!("{}/schedstat", thread.folder())).ok()?;
    // A thread that can read this has run.
    (spent.sum_exec_runtime > 0).then(|| Duration::from_nanos(spent.run_delay))
}

/// When a thread started, in clock ticks after boot. The kernel reuses thread numbers; number and start time together
/// identify a thread uniquely.
///
/// # Errors
/// When it has ended, or cannot be read.
pub fn started_ticks(thread: ThreadRef) -> Result<u64, ObserveError> {
    Ok(stat(thread)?.starttime)
}

fn stat(thread: ThreadRef) -> Result<Stat, ObserveError> {
    parse(&format!("{}/stat", thread.folder()))
}

fn processor(stat: &Stat, thread: ThreadRef) -> Result<u32, ObserveError> {
    let cpu = stat.processor.and_then(|cpu| u32::try_from(cpu).ok());
    cpu.ok_or_else(|| no_processor(&format!("{}/stat", thread.folder())))
}

/// The line `se.nr_migrations   :   12` of a thread's `sched`.
fn migrations(sched: &str) -> Option<u64> {
    let (_, value) = sched.lines().find(|line| line.starts_with("se.nr_migrations"))?.split_once(':')?;
    value.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::sighting::last_cpu;
    use super::*;

    #[test]
    fn a_thread_with_a_hostile_name_is_sampled_completely() {
        let (sender, here) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let named = std::thread::spawn(move || {
            rustix::thread::set_name(c"\xff\xfe) R \n:\\").unwrap();
            sender.send(ThreadRef::of_this_thread()).unwrap();
            let _ = ended.recv();
        });
        let other = here.recv().unwrap();
        let sample = thread(other).unwrap();
        assert_eq!(sample.name, "\u{fffd}\u{fffd}) R \n:\\");
        assert_eq!(last_cpu(other).unwrap(), sample.cpu, "it sleeps");
        assert!(sample.voluntary_switches.is_some(), "{sample:?}");
        assert!(threads(other.pid).unwrap().iter().any(|sample| sample.thread == other));
        assert_eq!(ThreadRef::of_tid(other.tid).unwrap(), other);
        assert!(super::super::usage::switches(other.pid).unwrap().iter().any(|(thread, _)| *thread == other));
        drop(end);
        named.join().unwrap();
    }
}
