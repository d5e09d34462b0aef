//! A number of transactions after which a run ends, shared by all threads: only such runs pay for sharing it.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many there may be, how many of them were begun, and how many are done.
#[derive(Debug)]
pub(super) struct Events {
    most: u64,
    taken: AtomicU64,
    done: AtomicU64,
}

impl Events {
    pub(super) fn new(most: u64) -> Self {
        Self { most, taken: AtomicU64::new(0), done: AtomicU64::new(0) }
    }

    /// Takes one to be begun; false where all are taken.
    pub(super) fn take(&self) -> bool {
        // Each thread asks once more at most and then waits: this never overflows.
        self.taken.fetch_add(1, Ordering::Relaxed) < self.most
    }

    /// Whether there is none left to be begun.
    pub(super) fn all_taken(&self) -> bool {
        self.taken.load(Ordering::Relaxed) >= self.most
    }

    /// Counts one that was taken as done; true for the last of all.
    pub(super) fn is_last(&self) -> bool {
        self.done.fetch_add(1, Ordering::Relaxed) + 1 == self.most
    }
}
