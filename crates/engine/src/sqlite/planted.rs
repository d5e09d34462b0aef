//! Planted delays for tests (feature `planted-lock`). One is a lock that every statement takes and holds for some
//! microseconds per pair of connections, like a lock around work on all pairs of sessions: its share grows so fast
//! that a ranking must name it first, on a machine with two busy PUs as well as on one with hundreds. The others are
//! causes of a fixed size each ([`causes`]).

mod causes;

use super::pragmas::Refused;
use causes::Causes;
pub(super) use causes::{Begun, CLIENT_REQUESTS, slow_client};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::yield_now;
use std::time::{Duration, Instant};

/// Hidden option: microseconds per pair of connections (n connections: n * n) that a statement holds the lock.
const OPTION: &str = "tare_planted_lock_us";
/// The prefix of an option's name in the statement that reads it back.
const REQUEST: &str = "PRAGMA ";
/// Iterations (a power of two, because a mask needs no call) of a loop between two checks of the clock or the lock:
/// in a profile those calls would not count as the function's own time.
const LOOK_EVERY: u32 = 16;
/// Iterations (a power of two) of the waiting loop before it yields the PU: the holder may need it.
const SPINS: u32 = 2_048;

#[derive(Debug, Default)]
pub(super) struct Planted {
    lock: Option<Lock>,
    /// Connections that have prepared a statement.
    sessions: AtomicU32,
    causes: Causes,
}

#[derive(Debug)]
struct Lock {
    hold: Duration,
    taken: AtomicBool,
    count: AtomicU64,
    wait_ns: AtomicU64,
}

pub(super) fn is_option(name: &str) -> bool {
    name == OPTION || causes::is_option(name)
}

fn microseconds(option: &str, text: String, least: u64) -> Result<u64, Refused> {
    text.parse().ok().filter(|us| (least..=1_000_000).contains(us)).ok_or_else(|| Refused {
        option: option.to_owned(),
        reason: format!("{text} is not a whole number of microseconds from {least} to 1000000"),
    })
}

impl Planted {
    pub(super) fn take(options: &mut BTreeMap<String, String>) -> Result<Self, Refused> {
        let causes = Causes::take(options, |option, text| microseconds(option, text, 0))?;
        let planted = Self { causes, ..Self::default() };
        let Some(text) = options.remove(OPTION) else { return Ok(planted) };
        let us = microseconds(OPTION, text, 1)?;
        let (taken, count, wait_ns) = Default::default();
        let lock = Some(Lock { hold: Duration::from_micros(us), taken, count, wait_ns });
        Ok(Self { lock, ..planted })
    }

    /// Called before each statement; waits if a delay was planted.
    #[inline]
    pub(super) fn statement(&self, database: &Connection) -> Begun {
        if let Some(lock) = &self.lock {
            tare_planted_lock(lock, self.sessions.load(Ordering::Relaxed));
        }
        self.causes.statement(database)
    }

    pub(super) fn done(&self, database: &Connection, begun: Begun) {
        self.causes.done(database, begun);
    }

    /// Registers an active connection: until the guard is dropped it makes every hold of the lock longer.
    pub(super) fn session(&self) -> Session<'_> {
        self.sessions.fetch_add(1, Ordering::Relaxed);
        Session(self)
    }

    /// Microseconds of the option that this statement reads, if it was given.
    pub(super) fn requested(&self, sql: &str) -> Option<u64> {
        match sql.strip_prefix(REQUEST)? {
            OPTION => self.lock.as_ref().map(|lock| lock.hold.as_micros() as u64),
            other => self.causes.given(other),
        }
    }

    /// Rows of name, count, wait in nanoseconds.
    pub(super) fn waits(&self) -> impl Iterator<Item = (&'static str, u64, u64)> {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let lock = self.lock.as_ref().map(|lock| ("tare_planted_lock", read(&lock.count), read(&lock.wait_ns)));
        lock.into_iter().chain(self.causes.waits())
    }
}

#[derive(Debug)]
pub(super) struct Session<'w>(&'w Planted);

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.0.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits for the lock, holds it and releases it. Profiles show this name; waiting and holding call no other function,
/// so that its own share of the samples grows with the waiting.
#[inline(never)]
fn tare_planted_lock(planted: &Lock, sessions: u32) {
    let requested = Instant::now();
    let mut turns: u32 = 0;
    while turns & (LOOK_EVERY - 1) != 0
        || planted.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err()
    {
        spin_loop();
        turns = turns.wrapping_add(1);
        if turns & (SPINS - 1) == 0 {
            yield_now();
        }
    }
    let had = Instant::now();
    let hold = planted.hold * sessions.saturating_mul(sessions);
    let mut turns: u32 = 0;
    while turns & (LOOK_EVERY - 1) != 0 || had.elapsed() < hold {
        spin_loop();
        turns = turns.wrapping_add(1);
    }
    planted.taken.store(false, Ordering::Release);
    planted.count.fetch_add(1, Ordering::Relaxed);
    planted.wait_ns.fetch_add(had.duration_since(requested).as_nanos() as u64, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planted(us: &str) -> Result<Planted, Refused> {
        Planted::take(&mut BTreeMap::from([(OPTION.to_owned(), us.to_owned())]))
    }

    #[test]
    fn one_session_at_a_time_holds_the_planted_lock_and_waits_are_counted() {
        let planted = planted("100").unwrap();
        let none = || Connection::open_in_memory().unwrap();
        let _two = [planted.session(), planted.session()];
        let began = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let database = none();
                    for _ in 0..20 {
                        planted.statement(&database);
                    }
                });
            }
        });
        // 60 times 100 us for each of four pairs, one after the other, whichever thread holds it.
        assert!(began.elapsed() >= Duration::from_millis(24));
        let (name, count, wait_ns) = planted.waits().next().unwrap();
        assert_eq!((name, count), ("tare_planted_lock", 60));
        assert!(wait_ns > 0);
    }

    #[test]
    fn without_the_option_there_is_no_lock_and_a_bad_value_is_refused() {
        let none = Planted::take(&mut BTreeMap::new()).unwrap();
        none.statement(&Connection::open_in_memory().unwrap());
        assert_eq!((none.waits().count(), none.requested(&format!("{REQUEST}{OPTION}"))), (0, None));
        for bad in ["", "0", "-1", "1000001", "much"] {
            assert!(planted(bad).unwrap_err().reason.contains("1 to 1000000"), "{bad}");
        }
    }
}
