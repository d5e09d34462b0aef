//! Atomic shards, a cache line each; a selector says which one to use.

use std::sync::atomic::{AtomicU64, Ordering};

use super::counting::{Counting, Plan};
use crate::workload::Error;

/// Which shard an increment goes to.
pub(crate) trait Selector: Sync + Sized {
    /// What a thread keeps to choose by.
    type Local;

    fn new(plan: &Plan) -> Result<Self, Error>;
    fn enter(&self, thread: usize) -> Self::Local;
    /// Any number; taken modulo the shards.
    fn select(&self, local: &mut Self::Local, counter: usize) -> usize;
}

pub(crate) struct Sharded<S, const N: usize>(S);

/// A line of 64 bytes with the value at its end, as the article's.
#[repr(C)]
pub(crate) struct Shard {
    pad: [u8; 56],
    value: AtomicU64,
}

impl<S: Selector, const N: usize> Counting for Sharded<S, N> {
    type Cell = [Shard; N];
    type Local = S::Local;

    fn new(plan: &Plan) -> Result<Self, Error> {
        S::new(plan).map(Self)
    }

    fn cell(&self) -> Self::Cell {
        [const { Shard { pad: [0; 56], value: AtomicU64::new(0) } }; N]
    }

    fn enter(&self, thread: usize) -> Self::Local {
        self.0.enter(thread)
    }

    #[inline]
    fn increment(&self, local: &mut Self::Local, cell: &Self::Cell, counter: usize) {
        cell[self.0.select(local, counter) % N].value.fetch_add(1, Ordering::Relaxed);
    }

    fn sum(&self, cell: &Self::Cell, _: usize) -> u64 {
        cell.iter().map(|shard| shard.value.load(Ordering::Relaxed) + u64::from(shard.pad[0])).sum()
    }
}
