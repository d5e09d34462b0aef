//! Atomic shards, by default one cache line each; a selector determines which one to use.

use super::counting::{Counting, Plan};
use crate::workload::Error;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) trait Selector: Send + Sync + Sized {
    type Local;

    fn new(plan: &Plan) -> Result<Self, Error>;
    fn enter(&self, thread: usize) -> Self::Local;
    /// Any number; the shard is its remainder modulo the number of shards.
    fn select(&self, local: &mut Self::Local, counter: usize) -> usize;
}

/// `N` shards of `W` values each; the last value is the counter.
pub(crate) struct Sharded<S, const N: usize, const W: usize>(S);

/// With 8 values a line of 64 bytes with the counter at its end, as in the original program.
pub(crate) struct Shard<const W: usize>([AtomicU64; W]);

impl<const W: usize> Shard<W> {
    #[inline]
    fn value(&self) -> &AtomicU64 {
        &self.0[W - 1]
    }
}

impl<S: Selector, const N: usize, const W: usize> Counting for Sharded<S, N, W> {
    type Cell = [Shard<W>; N];
    type Local = S::Local;

    fn new(plan: &Plan) -> Result<Self, Error> {
        S::new(plan).map(Self)
    }

    fn cell(&self) -> Self::Cell {
        [const { Shard([const { AtomicU64::new(0) }; W]) }; N]
    }

    fn enter(&self, thread: usize) -> Self::Local {
        self.0.enter(thread)
    }

    #[inline]
    fn increment(&self, local: &mut Self::Local, cell: &Self::Cell, counter: usize) {
        cell[self.0.select(local, counter) % N].value().fetch_add(1, Ordering::Relaxed);
    }

    fn sum(&self, cell: &Self::Cell, _: usize) -> u64 {
        let mut sum = 0;
        for shard in cell {
            sum += shard.value().load(Ordering::Relaxed);
        }
        sum
    }
}
