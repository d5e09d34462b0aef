//! Planted causes of known size, most in microseconds: `tare why` must name each first and find its size.

use crate::sqlite::waited::Waited;
use rusqlite::Connection;
use rustix::rand::{GetRandomFlags, getrandom};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::sleep;
use std::time::Duration;

/// CPU time in one function of the server, in every statement.
const WORK: &str = "tare_planted_work_us";
/// CPU time in the kernel, in every statement.
const KERNEL: &str = "tare_planted_kernel_us";
/// A lock that every statement takes and every fourth statement holds for this time; waiting threads sleep.
const MUTEX: &str = "tare_planted_mutex_us";
const COMMIT: &str = "tare_planted_commit_us";
/// A sleep after every change inside a transaction, while SQLite's write lock is held.
const HELD: &str = "tare_planted_held_us";
/// Additions in every statement to the connection's own counter, which shares a cache line with those of all other
/// connections. This is their number, not microseconds.
const SHARED_LINE: &str = "tare_planted_shared_line";
/// CPU time of the client in every prepared statement.
const CLIENT: &str = "tare_planted_client_us";
/// Transit time of every request, during which both sides sleep.
const WAY: &str = "tare_planted_way_us";
const OPTIONS: [&str; 8] = [WORK, KERNEL, MUTEX, COMMIT, HELD, SHARED_LINE, CLIENT, WAY];
/// One-byte counters in a cache line of 64 bytes.
const LINE: usize = 64;
/// One in this many statements holds the lock.
const HELD_BY_ONE_IN: u64 = 4;

/// The planted causes, and the waits for the lock.
#[derive(Debug, Default)]
pub(super) struct Causes {
    us: BTreeMap<&'static str, u64>,
    mutex: Mutex<()>,
    statements: AtomicU64,
    waited: Waited,
    line: Line,
}

/// A cache line to which many threads write, each to a byte of its own: false sharing.
#[derive(Debug)]
#[repr(align(64))]
struct Line([AtomicU8; LINE]);

impl Default for Line {
    fn default() -> Self {
        Self([const { AtomicU8::new(0) }; LINE])
    }
}

thread_local! {
    /// The index of the thread's byte.
    static PLACE: usize = {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        THREADS.fetch_add(1, Ordering::Relaxed) % LINE
    };
}

/// The state at the beginning of a statement: whether it was outside a transaction, and the rows changed before it.
#[derive(Debug, Clone, Copy)]
pub(in crate::sqlite) struct Begun {
    autocommit: bool,
    changes: u64,
}

pub(super) fn is_option(name: &str) -> bool {
    OPTIONS.contains(&name)
}

impl Causes {
    /// Removes its options from `options`; `read` parses their values.
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

    /// Applies what is planted in every statement. Returns the state that [`Causes::done`] needs.
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

    /// Called after a statement. A commit ended a transaction, or the statement changed rows outside of one.
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
            // Asleep: on few CPUs a busy holder would make the others wait for a CPU too, and not for the lock alone.
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

    /// Rows of name, count, wait in nanoseconds.
    pub(super) fn waits(&self) -> Option<(&'static str, u64, u64)> {
        let count = self.statements.load(Ordering::Relaxed);
        self.us(MUTEX).map(|_| ("tare_planted_mutex", count, self.waited.ns()))
    }
}

/// Statements with which a client reads its planted delays from the server.
pub(in crate::sqlite) const CLIENT_REQUESTS: [&str; 2] =
    ["PRAGMA tare_planted_client_us", "PRAGMA tare_planted_way_us"];

/// The longest planted delay of a client, in microseconds: tests that garble answers would wait for hours in all.
const LONGEST_US: u64 = 20_000;

/// A client with more work, or whose requests take longer to arrive: both sides sleep meanwhile.
pub(in crate::sqlite) fn slow_client(slower_us: [u64; 2]) {
    let [work_us, way_us] = slower_us.map(|us| us.min(LONGEST_US));
    if work_us > 0 {
        tare_planted_work(work_us);
    }
    if way_us > 0 {
        sleep(Duration::from_micros(way_us));
    }
}

/// Uses this many microseconds of CPU time: steps that depend on each other, whose speed hardly changes with a busy
/// neighbour on the same core. It does change when a host slows the CPU down for a while, so the clock is read after
/// every few microseconds of steps, which adds about 2%.
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

/// Microseconds of steps between two readings of the clock.
const CLOCK_EVERY_US: f64 = 10.0;

#[inline(always)]
fn steps(count: u64) {
    let mut state = black_box(1_u64);
    for _ in 0..count {
        state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
    black_box(state);
}

/// Uses this many microseconds of CPU time in system calls: long ones, because the call itself is user time, a fifth of
/// the time of short ones without optimisation.
fn in_the_kernel(us: u64) {
    let mut random = [0; 1024];
    let until = cpu_us() + us as f64;
    while cpu_us() < until {
        let _ = getrandom(&mut random, GetRandomFlags::INSECURE);
    }
}

fn cpu_us() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_the_requested_cpu_time() {
        tare_planted_work(1);
        let began = cpu_us();
        (0..50).for_each(|_| tare_planted_work(200));
        let took = cpu_us() - began;
        // Slower than its best when the machine's clock frequency is lower.
        assert!((9_000.0..30_000.0).contains(&took), "{took} us of 10,000");
        let began = cpu_us();
        in_the_kernel(5_000);
        assert!((5_000.0..7_000.0).contains(&(cpu_us() - began)));
    }
}
