//! Finds the server thread of a connection if the server does not report it: the one that runs while the connection
//! has work for it. MySQL with `performance_schema=OFF` is such a server: its `information_schema` has no thread
//! numbers.

use crate::{SqlError, SqlErrorKind};
use procfs::process::Process;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A query that takes some milliseconds of the server's CPU time and reads no table.
pub(super) const WORK: &str = "SELECT BENCHMARK(20000, SHA2('tare', 256))";

/// Limit on the rounds: a server that is also busy for other clients may need several.
const ROUNDS: usize = 20;
/// Least time that the thread runs in a round, nanoseconds ...
const ENOUGH_NS: u64 = 1_000_000;
/// ... and how many times as long as any other thread.
const DOMINANCE: u64 = 4;

/// Connections of this process take turns: of two at the same time, each would see the other's thread run.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The thread of process `pid` that dominates by CPU time in two consecutive rounds of `work`; none if no thread
/// does, or if the kernel does not keep these times.
pub(super) fn thread(pid: i32, mut work: impl FnMut() -> Result<(), SqlError>) -> Result<Option<i32>, SqlError> {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut last = None;
    for _ in 0..ROUNDS {
        let before = run_times_ns(pid)?;
        work()?;
        let now = standing_out(&before, &run_times_ns(pid)?);
        if now.is_some() && now == last {
            return Ok(now);
        }
        last = now;
    }
    Ok(None)
}

/// CPU time per thread, nanoseconds.
fn run_times_ns(pid: i32) -> Result<BTreeMap<i32, u64>, SqlError> {
    let failed = |error: procfs::ProcError| {
        SqlError::own(SqlErrorKind::Other, format!("cannot list the threads of process {pid}: {error}"))
    };
    let tasks = Process::new(pid).and_then(|process| process.tasks()).map_err(failed)?;
    // A thread that ends while the list is read is not the one searched.
    Ok(tasks.flatten().filter_map(|task| Some((task.tid, task.schedstat().ok()?.sum_exec_runtime))).collect())
}

fn standing_out(before: &BTreeMap<i32, u64>, after: &BTreeMap<i32, u64>) -> Option<i32> {
    let ran = |(tid, now): (&i32, &u64)| (now.saturating_sub(before.get(tid).copied().unwrap_or(0)), *tid);
    let mut ran: Vec<(u64, i32)> = after.iter().map(ran).collect();
    ran.sort_unstable();
    let (longest, tid) = ran.pop()?;
    let next = ran.pop().map_or(0, |(time, _)| time);
    (longest >= ENOUGH_NS && longest >= DOMINANCE.saturating_mul(next)).then_some(tid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_must_stand_out() {
        let before = BTreeMap::from([(1, 5_000_000), (2, 7_000_000)]);
        let after =
            |one: u64, two: u64, new: u64| BTreeMap::from([(1, 5_000_000 + one), (2, 7_000_000 + two), (3, new)]);
        assert_eq!(standing_out(&before, &after(10_000_000, 1_000_000, 0)), Some(1));
        assert_eq!(standing_out(&before, &after(0, 0, 9_000_000)), Some(3));
        assert_eq!(standing_out(&before, &after(10_000_000, 9_000_000, 0)), None, "two alike");
        assert_eq!(standing_out(&before, &after(0, 500_000, 0)), None, "hardly any");
        assert_eq!(standing_out(&before, &BTreeMap::new()), None);
    }

    /// In this test the connection is a thread of this process, and its work is a loop.
    #[test]
    fn each_connection_finds_its_own_server_thread_under_concurrency() {
        let found = |()| {
            let tid = rustix::thread::gettid().as_raw_nonzero().get();
            let pid = rustix::process::getpid().as_raw_nonzero().get();
            let work = || {
                (0..3_000_000_u64).fold(0, |sum: u64, n| std::hint::black_box(sum ^ n));
                Ok(())
            };
            (tid, thread(pid, work).unwrap())
        };
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(move || found(()))).collect();
        for thread in threads {
            let (tid, found) = thread.join().unwrap();
            assert_eq!(found, Some(tid));
        }
    }
}
