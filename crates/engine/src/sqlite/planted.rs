//! The embedded engine's own wait table, and a lock planted for tests: taken in every statement and held for some
//! microseconds for each pair of connections, as one that guards work on all pairs of sessions. Its share grows so much
//! that a ranking must name it first on a machine with two busy PUs as on one with hundreds.

use std::collections::BTreeMap;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::yield_now;
use std::time::{Duration, Instant};

/// Option (hidden) whose value is the microseconds for each pair of connections (n connections: n * n) that a statement
/// holds the planted lock.
pub(super) const OPTION: &str = "tare_planted_lock_us";
/// The text that a client sends to get the wait table: name, count, nanoseconds.
pub(super) const WAITS_REQUEST: &str = "TARE LOCK WAITS";
/// The text that reads [`OPTION`] back, as it would a PRAGMA.
pub(super) const PLANTED_REQUEST: &str = "PRAGMA tare_planted_lock_us";
/// Turns (a power of two, as a mask needs no call) of a loop between two looks at the clock or the lock: those calls
/// would not be its own time in a profile.
const LOOK_EVERY: u32 = 16;
/// Turns (a power of two) of the waiting loop before the PU is offered to somebody else: the holder may need it.
const SPINS: u32 = 2_048;

/// Waits of the whole server, from its start.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Statements answered with BUSY: the client waits for SQLite's write lock, and tries again.
    pub busy: AtomicU64,
    /// Connections that have prepared a statement.
    sessions: AtomicU32,
    planted: Option<Planted>,
}

#[derive(Debug)]
struct Planted {
    hold: Duration,
    taken: AtomicBool,
    count: AtomicU64,
    wait_ns: AtomicU64,
}

impl Waits {
    /// Takes the planted lock's option out of `options`.
    pub(super) fn new(options: &mut BTreeMap<String, String>) -> Result<Self, String> {
        let Some(text) = options.remove(OPTION) else { return Ok(Self::default()) };
        let us: u64 = text
            .parse()
            .ok()
            .filter(|us| (1..=1_000_000).contains(us))
            .ok_or_else(|| format!("{OPTION}: {text} is no whole number of microseconds from 1 to 1000000"))?;
        let (taken, count, wait_ns) = Default::default();
        let planted = Planted { hold: Duration::from_micros(us), taken, count, wait_ns };
        Ok(Self { planted: Some(planted), ..Self::default() })
    }

    /// Before each statement.
    #[inline]
    pub(super) fn statement(&self) {
        if let Some(planted) = &self.planted {
            tare_planted_lock(planted, self.sessions.load(Ordering::Relaxed));
        }
    }

    /// A connection that works: until the guard is dropped it makes the planted lock longer for all.
    pub(super) fn session(&self) -> Session<'_> {
        self.sessions.fetch_add(1, Ordering::Relaxed);
        Session(self)
    }

    /// Microseconds that the planted lock is held.
    pub(super) fn planted_us(&self) -> Option<u64> {
        self.planted.as_ref().map(|planted| planted.hold.as_micros() as u64)
    }

    /// name, count, wait in nanoseconds.
    pub(super) fn table(&self) -> Vec<(&'static str, u64, u64)> {
        let mut table = vec![("sqlite/busy", self.busy.load(Ordering::Relaxed), 0)];
        let planted = self.planted.iter();
        table.extend(
            planted.map(|p| ("tare_planted_lock", p.count.load(Ordering::Relaxed), p.wait_ns.load(Ordering::Relaxed))),
        );
        table
    }
}

/// One of the connections that work.
#[derive(Debug)]
pub(super) struct Session<'w>(&'w Waits);

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.0.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits for the lock, holds it, lets it go. Its name is what a profile shows; it waits and works in itself, so that
/// its own share of the samples grows with the waiting.
#[inline(never)]
fn tare_planted_lock(planted: &Planted, sessions: u32) {
    let asked = Instant::now();
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
    planted.wait_ns.fetch_add(had.duration_since(asked).as_nanos() as u64, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planted(us: &str) -> Result<Waits, String> {
        Waits::new(&mut BTreeMap::from([(OPTION.to_owned(), us.to_owned())]))
    }

    #[test]
    fn the_lock_is_had_by_one_at_a_time_and_waits_are_counted() {
        let waits = planted("100").unwrap();
        let _two = [waits.session(), waits.session()];
        let began = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (0..20).for_each(|_| waits.statement()));
            }
        });
        // 60 times 100 us for each of four pairs, one after the other, whoever has it.
        assert!(began.elapsed() >= Duration::from_millis(24));
        let table = waits.table();
        let (name, count, wait_ns) = table[1];
        assert_eq!((name, count), ("tare_planted_lock", 60));
        assert!(wait_ns > 0);
    }

    #[test]
    fn without_the_option_there_is_no_lock_and_a_bad_value_is_refused() {
        let waits = Waits::new(&mut BTreeMap::new()).unwrap();
        waits.statement();
        assert_eq!((waits.table().len(), waits.planted_us()), (1, None));
        for bad in ["", "0", "-1", "1000001", "much"] {
            assert!(planted(bad).unwrap_err().contains("1 to 1000000"), "{bad}");
        }
    }
}
