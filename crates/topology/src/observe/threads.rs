use std::fs;
use std::io;

use procfs::process::{Schedstat, Stat, Status};
use procfs::{FromRead, ProcError};
use serde::{Deserialize, Serialize};

use super::error::ObserveError;

/// A thread at one moment. Counters run from the thread's start: subtract two samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadSample {
    /// The kernel's id of the thread.
    pub tid: i32,
    /// Its name, of at most 15 bytes.
    pub name: String,
    /// The CPU it runs on, or ran on last.
    pub cpu: u32,
    /// Times it gave up its CPU by itself, as to wait.
    pub voluntary_switches: Option<u64>,
    /// Times the kernel took its CPU away.
    pub involuntary_switches: Option<u64>,
    /// Moves from one CPU to another. None where the kernel does not tell (no CONFIG_SCHED_DEBUG).
    pub migrations: Option<u64>,
    /// CPU time in user mode, in steps of the clock tick (usually 0.01 s).
    pub user_s: f64,
    /// CPU time in the kernel, in the same steps.
    pub system_s: f64,
    /// Time on a CPU, exact. None where the kernel does not tell (no CONFIG_SCHED_INFO).
    pub run_ns: Option<u64>,
    /// Time runnable but waiting for a CPU.
    pub wait_ns: Option<u64>,
}

/// Ids of the threads of a process, ascending.
pub fn tids(pid: i32) -> Result<Vec<i32>, ObserveError> {
    let path = format!("/proc/{pid}/task");
    let entries = fs::read_dir(&path).map_err(|e| ObserveError::io(&path, &e))?;
    let mut tids: Vec<i32> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str().and_then(|name| name.parse().ok())).collect();
    tids.sort_unstable();
    Ok(tids)
}

/// Samples of all threads of a process, by ascending id. Threads that end meanwhile are left out.
pub fn threads(pid: i32) -> Result<Vec<ThreadSample>, ObserveError> {
    let samples = tids(pid)?.into_iter().map(|tid| thread(pid, tid));
    samples.filter(|sample| !matches!(sample, Err(ObserveError::Gone { .. }))).collect()
}

/// A sample of one thread of a process: four small files.
pub fn thread(pid: i32, tid: i32) -> Result<ThreadSample, ObserveError> {
    let stat = stat(pid, tid)?;
    let folder = format!("/proc/{pid}/task/{tid}");
    let status: Status = parse(&format!("{folder}/status"))?;
    let schedstat: Option<Schedstat> = optional(parse(&format!("{folder}/schedstat")))?;
    let sched = format!("{folder}/sched");
    let sched = optional(fs::read_to_string(&sched).map_err(|e| ObserveError::io(&sched, &e)))?;
    let seconds = |ticks: u64| ticks as f64 / procfs::ticks_per_second() as f64;
    Ok(ThreadSample {
        tid,
        cpu: processor(&stat, pid, tid)?,
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

/// The CPU a thread runs on, or ran on last: field 39 of its `stat`. One small file.
pub fn last_cpu(pid: i32, tid: i32) -> Result<u32, ObserveError> {
    processor(&stat(pid, tid)?, pid, tid)
}

fn stat(pid: i32, tid: i32) -> Result<Stat, ObserveError> {
    parse(&stat_path(pid, tid))
}

fn stat_path(pid: i32, tid: i32) -> String {
    format!("/proc/{pid}/task/{tid}/stat")
}

fn processor(stat: &Stat, pid: i32, tid: i32) -> Result<u32, ObserveError> {
    let cpu = stat.processor.and_then(|cpu| u32::try_from(cpu).ok());
    cpu.ok_or_else(|| ObserveError::format(&stat_path(pid, tid), "field 39, the processor, is missing"))
}

fn parse<T: FromRead>(path: &str) -> Result<T, ObserveError> {
    // Read first: an end of the thread between open and read is then seen as such.
    let text = fs::read(path).map_err(|e| ObserveError::io(path, &e))?;
    T::from_read(io::Cursor::new(text)).map_err(|e| match e {
        ProcError::NotFound(_) => ObserveError::Gone { path: path.to_owned() },
        e => ObserveError::format(path, e),
    })
}

/// None for a file that this kernel does not offer. Whether the thread is there was seen from its other files.
fn optional<T>(read: Result<T, ObserveError>) -> Result<Option<T>, ObserveError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(ObserveError::Gone { .. }) => Ok(None),
        Err(e) => Err(e),
    }
}

/// The line `se.nr_migrations   :   12` of a thread's `sched`.
fn migrations(sched: &str) -> Option<u64> {
    let (_, value) = sched.lines().find(|line| line.starts_with("se.nr_migrations"))?.split_once(':')?;
    value.trim().parse().ok()
}
