//! A number of transactions after which a run ends. Threads share the counters; runs without a limit do not use them.

use std::sync::atomic::{AtomicU64, Ordering};

/// The limit, the number of transactions begun, and the number completed.
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

    /// Takes one transaction to begin; false if all are taken.
    pub(super) fn take(&self) -> bool {
        // Cannot overflow: each thread asks at most once more and then waits.
        self.taken.fetch_add(1, Ordering::Relaxed) < self.most
    }

    /// Whether no transaction is left to begin.
    pub(super) fn all_taken(&self) -> bool {
        self.taken.load(Ordering::Relaxed) >= self.most
    }

    /// Counts one taken transaction as completed; true for the last one of the run.
    pub(super) fn is_last(&self) -> bool {
        self.done.fetch_add(1, Ordering::Relaxed) + 1 == self.most
    }
}
