//! Finds the server thread of a connection by its CPU time: works for any server with one thread per connection.

use std::collections::BTreeMap;

use procfs::process::Process;
use tare_cpuset::ThreadRef;
use tare_engine::{SqlError, SqlErrorKind};

/// Rounds of driving until the answer must be clear.
const ROUNDS: usize = 50;
/// Least CPU time of the thread, nanoseconds.
const ENOUGH_NS: u64 = 2_000_000;
/// Least ratio of its CPU time to that of the next thread.
const DOMINANCE: u64 = 4;

/// The thread of process `pid` that uses CPU time while `drive` keeps one connection busy and all others are idle;
/// `None` if none stands out. `drive` is called up to 50 times and should run some hundred cheap queries each time.
///
/// # Errors
/// An error of `drive`, or that the process cannot be observed.
pub fn find_serving_thread(
    pid: u32,
    mut drive: impl FnMut() -> Result<(), SqlError>,
) -> Result<Option<ThreadRef>, SqlError> {
    let before = run_times(pid)?;
    for _ in 0..ROUNDS {
        drive()?;
        let after = run_times(pid)?;
        if let Some(tid) = outstanding(&before, &after) {
            return Ok(Some(ThreadRef { pid: pid.cast_signed(), tid: tid.cast_signed() }));
        }
    }
    Ok(None)
}

/// CPU time of each thread, nanoseconds.
fn run_times(pid: u32) -> Result<BTreeMap<u32, u64>, SqlError> {
    let failed = |error: procfs::ProcError| {
        SqlError::own(SqlErrorKind::Other, format!("cannot list the threads of process {pid}: {error}"))
    };
    let tasks = Process::new(pid as i32).and_then(|process| process.tasks()).map_err(failed)?;
    // A thread that ends while the list is read is not the one.
    Ok(tasks.flatten().filter_map(|task| Some((task.tid as u32, task.schedstat().ok()?.sum_exec_runtime))).collect())
}

fn outstanding(before: &BTreeMap<u32, u64>, after: &BTreeMap<u32, u64>) -> Option<u32> {
    let ran = |(tid, now): (&u32, &u64)| (now.saturating_sub(before.get(tid).copied().unwrap_or(0)), *tid);
    let mut ran: Vec<(u64, u32)> = after.iter().map(ran).collect();
    ran.sort_unstable_by(|a, b| b.cmp(a));
    let (first, tid) = *ran.first()?;
    let second = ran.get(1).map_or(0, |(time, _)| *time);
    (first >= ENOUGH_NS && first >= DOMINANCE * second.max(1)).then_some(tid)
}

#[test]
fn one_thread_must_stand_out() {
    let before = BTreeMap::from([(1, 5_000_000), (2, 7_000_000)]);
    let after = |one: u64, two: u64, new: u64| BTreeMap::from([(1, 5_000_000 + one), (2, 7_000_000 + two), (3, new)]);
    assert_eq!(outstanding(&before, &after(10_000_000, 1_000_000, 0)), Some(1));
    assert_eq!(outstanding(&before, &after(0, 0, 9_000_000)), Some(3));
    assert_eq!(outstanding(&before, &after(10_000_000, 9_000_000, 0)), None, "two alike");
    assert_eq!(outstanding(&before, &after(100_000, 0, 0)), None, "too little");
}
