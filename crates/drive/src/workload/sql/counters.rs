//! Numbers that all clients of a trial count on together.

use std::sync::atomic::{AtomicI64, Ordering};

/// One a `[counters]` line, by its number.
#[derive(Debug)]
pub(super) struct Counters(Vec<AtomicI64>);

impl Counters {
    /// Each from where it starts: the first number that is taken is one more.
    pub fn starting(at: &[i64]) -> Self {
        Self(at.iter().copied().map(AtomicI64::new).collect())
    }

    /// Takes so many numbers: the first of them.
    pub fn next(&self, counter: usize, by: u32) -> i64 {
        self.0[counter].fetch_add(by.into(), Ordering::Relaxed).wrapping_add(1)
    }

    /// The last number that was taken.
    pub fn now(&self, counter: usize) -> i64 {
        self.0[counter].load(Ordering::Relaxed)
    }
}
