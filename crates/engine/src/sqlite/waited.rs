//! Total waiting time of many threads, including current waits: a wait may be longer than a sample.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// All waits of one kind since the start of the server.
#[derive(Debug)]
pub(super) struct Waited {
    start: Instant,
    sums: Mutex<Sums>,
}

#[derive(Debug, Default)]
struct Sums {
    over: Duration,
    /// Number of current waits, and the sum of their start times, each measured from the start of the server.
    waiting: u32,
    begun: Duration,
}

/// One wait, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Waiting<'w> {
    of: &'w Waited,
    since: Duration,
}

impl Default for Waited {
    fn default() -> Self {
        Self { start: Instant::now(), sums: Mutex::default() }
    }
}

impl Waited {
    pub(super) fn begin(&self) -> Waiting<'_> {
        let mut sums = self.sums();
        let since = self.start.elapsed();
        sums.waiting += 1;
        sums.begun += since;
        Waiting { of: self, since }
    }

    /// Total of all waits until now, nanoseconds.
    pub(super) fn ns(&self) -> u64 {
        let sums = self.sums();
        let not_over = (self.start.elapsed() * sums.waiting).saturating_sub(sums.begun);
        u64::try_from((sums.over + not_over).as_nanos()).unwrap_or(u64::MAX)
    }

    fn sums(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut sums = self.of.sums();
        sums.waiting -= 1;
        sums.begun = sums.begun.saturating_sub(self.since);
        sums.over += self.of.start.elapsed().saturating_sub(self.since);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    #[test]
    fn a_wait_counts_while_it_is_not_over_and_no_longer_than_it_is() {
        let waited = Waited::default();
        assert_eq!(waited.ns(), 0);
        let (first, second) = (waited.begin(), waited.begin());
        sleep(Duration::from_millis(2));
        // Two waits at the same time.
        let before = waited.ns();
        assert!(before >= 4_000_000, "{before}");
        drop(first);
        drop(second);
        let over = waited.ns();
        sleep(Duration::from_millis(2));
        assert!(over >= before && waited.ns() == over, "{before} {over}");
    }
}
