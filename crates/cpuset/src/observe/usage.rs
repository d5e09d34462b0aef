//! Resource usage of a process since its start: CPU time, faults, bytes to and from storage, context switches.

use super::error::ObserveError;
use super::proc_file::parse;
use super::thread_ref::ThreadRef;
use super::threads::threads_of;
use procfs::process::{Io, Stat, Status};

/// Resource usage of one process since its start, including ended threads. Counters only grow: subtract two samples.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ProcessUsage {
    /// CPU time in user mode, seconds, in steps of the clock tick (usually 0.01 s).
    pub user_s: f64,
    /// CPU time in the kernel, in the same steps.
    pub system_s: f64,
    /// Page faults that needed no storage.
    pub minor_faults: f64,
    /// Page faults that waited for storage.
    pub major_faults: f64,
    /// Calls that read from files, sockets and pipes, such as read(2) and pread(2).
    pub read_calls: Option<f64>,
    /// Calls that wrote to files, sockets and pipes.
    pub write_calls: Option<f64>,
    /// Bytes fetched from storage, including by children that ended. `None` where this user may not read it.
    pub read_bytes: Option<f64>,
    /// Bytes written to storage or to the page cache to be written later, including by children that ended.
    pub written_bytes: Option<f64>,
    /// CPU time and faults of children that ended: user seconds, system seconds, minor and major faults.
    pub of_ended_children: [f64; 4],
}

/// What a process used so far. Reads two small files.
///
/// # Errors
/// When it has ended, or its `stat` cannot be read.
pub fn process_usage(pid: i32) -> Result<ProcessUsage, ObserveError> {
    let stat: Stat = parse(&format!("/proc/{pid}/stat"))?;
    let seconds = |ticks: f64| ticks / procfs::ticks_per_second() as f64;
    // For a process of another user, this needs the permission to trace it (proc(5)).
    let io: Option<Io> = parse(&format!("/proc/{pid}/io")).ok();
    Ok(ProcessUsage {
        user_s: seconds(stat.utime as f64),
        system_s: seconds(stat.stime as f64),
        minor_faults: stat.minflt as f64,
        major_faults: stat.majflt as f64,
        read_calls: io.as_ref().map(|io| io.syscr as f64),
        write_calls: io.as_ref().map(|io| io.syscw as f64),
        read_bytes: io.as_ref().map(|io| io.read_bytes as f64),
        written_bytes: io.as_ref().map(|io| io.write_bytes as f64),
        of_ended_children: [
            seconds(stat.cutime as f64),
            seconds(stat.cstime as f64),
            stat.cminflt as f64,
            stat.cmajflt as f64,
        ],
    })
}

/// Voluntary and involuntary context switches of every thread of a process since that thread's start. Reads one small
/// file per thread. Threads that end meanwhile are left out.
///
/// # Errors
/// When the process has ended.
pub fn switches(pid: i32) -> Result<Vec<(ThreadRef, [u64; 2])>, ObserveError> {
    let of = |thread: ThreadRef| {
        let status: Status = parse(&format!("{}/status", thread.folder())).ok()?;
        Some((thread, [status.voluntary_ctxt_switches?, status.nonvoluntary_ctxt_switches?]))
    };
    Ok(threads_of(pid)?.into_iter().filter_map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resources_that_this_process_uses_are_counted() {
        let pid = std::process::id().cast_signed();
        let of_this_thread = || {
            let here = ThreadRef::of_this_thread();
            switches(pid).unwrap().into_iter().find(|(thread, _)| *thread == here).unwrap().1
        };
        let (before, switched) = (process_usage(pid).unwrap(), of_this_thread());
        let began = std::time::Instant::now();
        let mut pages = Vec::new();
        while process_usage(pid).unwrap().user_s < before.user_s + 0.05 {
            pages.push(vec![1u8; 1 << 16]);
            assert!(began.elapsed().as_secs() < 60, "{:?}", process_usage(pid));
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
        let after = process_usage(pid).unwrap();
        assert!(after.minor_faults > before.minor_faults + 10.0, "{after:?}");
        assert!(of_this_thread()[0] > switched[0]);
        assert!(after.read_bytes >= before.read_bytes && after.written_bytes.is_some(), "{after:?}");
        assert!(process_usage(i32::MAX).is_err() && switches(i32::MAX).is_err());
    }
}
