//! Causes of known size, each an option of microseconds: what `tare why` must name first, and how large it must find
//! it.

use crate::sqlite::waited::Waited;
use rusqlite::Connection;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::sleep;
use std::time::Duration;

/// CPU time in one function of the server in every statement.
const WORK: &str = "tare_planted_work_us";
/// CPU time in the kernel in every statement.
const KERNEL: &str = "tare_planted_kernel_us";
/// A lock that every statement takes, and every fourth holds so long; who waits sleeps.
const MUTEX: &str = "tare_planted_mutex_us";
const COMMIT: &str = "tare_planted_commit_us";
/// A sleep after every change inside a transaction: SQLite's write lock is held meanwhile.
const HELD: &str = "tare_planted_held_us";
/// Additions, in every statement, to a counter of its own connection that lies in one cache line with those of all
/// others; not microseconds but their number.
const SHARED_LINE: &str = "tare_planted_shared_line";
/// CPU time of the client in every prepared statement.
const CLIENT: &str = "tare_planted_client_us";
/// Time that every request is on the way, in which both sides sleep.
const WAY: &str = "tare_planted_way_us";
const OPTIONS: [&str; 8] = [WORK, KERNEL, MUTEX, COMMIT, HELD, SHARED_LINE, CLIENT, WAY];
/// Counters of one byte each in a line of 64.
const LINE: usize = 64;
/// The lock is held by one in so many statements.
const HELD_BY_ONE_IN: u64 = 4;

/// What is planted, and what came of the lock.
#[derive(Debug, Default)]
pub(super) struct Causes {
    us: BTreeMap<&'static str, u64>,
    mutex: Mutex<()>,
    statements: AtomicU64,
    waited: Waited,
    line: Line,
}

/// What many threads write to, each its own byte, and no two the same: false sharing.
#[derive(Debug)]
#[repr(align(64))]
struct Line([AtomicU8; LINE]);

impl Default for Line {
    fn default() -> Self {
        Self([const { AtomicU8::new(0) }; LINE])
    }
}

thread_local! {
    /// Which of the bytes a thread writes to.
    static PLACE: usize = {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        THREADS.fetch_add(1, Ordering::Relaxed) % LINE
    };
}

/// Where a statement began: whether it was in a transaction, and the rows changed before it.
#[derive(Debug, Clone, Copy)]
pub(in crate::sqlite) struct Begun {
    autocommit: bool,
    changes: u64,
}

pub(super) fn is_option(name: &str) -> bool {
    OPTIONS.contains(&name)
}

impl Causes {
    /// Takes its options out of all, by the reader of their values.
    pub(super) fn take<E>(
        options: &mut BTreeMap<String, String>,
        read: impl Fn(&str, String) -> Result<u64, E>,
    ) -> Result<Self, E> {
        let mut us = BTreeMap::new();
        for name in OPTIONS {
            if let Some(text) = options.remove(name) {
                us.insert(name, read(name, text)?);
            }
        }
        Ok(Self { us, ..Self::default() })
    }

    fn us(&self, name: &str) -> Option<u64> {
        self.us.get(name).copied().filter(|us| *us > 0)
    }

    pub(super) fn given(&self, name: &str) -> Option<u64> {
        self.us.get(name).copied()
    }

    /// Does what is planted in every statement; what a commit is told by.
    pub(super) fn statement(&self, database: &Connection) -> Begun {
        if let Some(us) = self.us(WORK) {
            tare_planted_work(us);
        }
        if let Some(us) = self.us(KERNEL) {
            in_the_kernel(us);
        }
        if let Some(us) = self.us(MUTEX) {
            self.tare_planted_mutex(us);
        }
        if let Some(additions) = self.us(SHARED_LINE) {
            self.tare_planted_shared_line(additions);
        }
        Begun { autocommit: database.is_autocommit(), changes: database.total_changes() }
    }

    /// After a statement: a commit ended a transaction, or the statement changed rows outside of one.
    pub(super) fn done(&self, database: &Connection, begun: Begun) {
        let changed = database.total_changes() != begun.changes;
        if let Some(us) = self.us(HELD).filter(|_| changed && !database.is_autocommit()) {
            sleep(Duration::from_micros(us));
        }
        let Some(us) = self.us(COMMIT).filter(|_| database.is_autocommit()) else { return };
        if !begun.autocommit || changed {
            sleep(Duration::from_micros(us));
        }
    }

    #[inline(never)]
    fn tare_planted_mutex(&self, us: u64) {
        let waiting = self.waited.begin();
        let held = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        drop(waiting);
        if self.statements.fetch_add(1, Ordering::Relaxed).is_multiple_of(HELD_BY_ONE_IN) {
            // Asleep: on few CPUs work would make the others wait for a CPU too, and not for the lock alone.
            sleep(Duration::from_micros(us));
        }
        drop(held);
    }

    #[inline(never)]
    fn tare_planted_shared_line(&self, additions: u64) {
        let own = PLACE.with(|place| &self.line.0[*place]);
        for _ in 0..additions {
            own.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// name, count, wait in nanoseconds.
    pub(super) fn waits(&self) -> Option<(&'static str, u64, u64)> {
        let count = self.statements.load(Ordering::Relaxed);
        self.us(MUTEX).map(|_| ("tare_planted_mutex", count, self.waited.ns()))
    }
}

/// What a client asks the server for, to know how slow it is to be.
pub(in crate::sqlite) const CLIENT_REQUESTS: [&str; 2] =
    ["PRAGMA tare_planted_client_us", "PRAGMA tare_planted_way_us"];

/// A client that works longer, or whose requests are long on the way: both sides sleep meanwhile.
pub(in crate::sqlite) fn slow_client([work_us, way_us]: [u64; 2]) {
    if work_us > 0 {
        tare_planted_work(work_us);
    }
    if way_us > 0 {
        sleep(Duration::from_micros(way_us));
    }
}

/// Work of so many microseconds of CPU time: steps that depend on each other, whose speed a busy neighbour on the same
/// core hardly changes. A host that slows the CPU down for a while changes it, so the clock is asked after each few
/// microseconds of steps, which takes a fiftieth of them.
#[inline(never)]
fn tare_planted_work(us: u64) {
    static STEPS_EACH_US: OnceLock<f64> = OnceLock::new();
    let each = STEPS_EACH_US.get_or_init(|| {
        let rate = |_| {
            let began = cpu_us();
            steps(400_000);
            400_000.0 / (cpu_us() - began).max(1.0)
        };
        (0..5).map(rate).fold(0.0, f64::max)
    });
    let until = cpu_us() + us as f64;
    loop {
        let left = until - cpu_us();
        if left <= 0.0 {
            return;
        }
        steps((left.min(CLOCK_EVERY_US) * each) as u64 + 1);
    }
}

/// Microseconds of steps between two looks at the clock.
const CLOCK_EVERY_US: f64 = 10.0;

#[inline(always)]
fn steps(count: u64) {
    let mut state = black_box(1_u64);
    for _ in 0..count {
        state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
    black_box(state);
}

/// As many microseconds of CPU time in calls of the kernel.
fn in_the_kernel(us: u64) {
    let until = cpu_us() + us as f64;
    while cpu_us() < until {}
}

fn cpu_us() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_the_cpu_time_that_was_asked_for() {
        tare_planted_work(1);
        let began = cpu_us();
        (0..50).for_each(|_| tare_planted_work(200));
        let took = cpu_us() - began;
        // Slower than its best where the machine's clock is.
        assert!((9_000.0..30_000.0).contains(&took), "{took} us of 10,000");
        let began = cpu_us();
        in_the_kernel(5_000);
        assert!((5_000.0..7_000.0).contains(&(cpu_us() - began)));
    }
}
