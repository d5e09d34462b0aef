//! What every strategy can do.

use crate::workload::Error;

/// What a strategy must know before it allocates.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub counters: usize,
    pub threads: usize,
    pub seed: u64,
}

/// A way to keep counters that many threads increment. Monomorphised: the workload's loop is compiled once for each, so
/// that no strategy pays for an indirect call.
///
/// A counter is a `Cell`, which the workload keeps where the article keeps its counter objects (on the heap, between
/// data blocks), and a number, for strategies that keep their counters elsewhere (their `Cell` is empty).
pub trait Counting: Send + Sync + Sized {
    type Cell: Send + Sync;
    type Local;

    /// Bytes one counter takes, known before anything is allocated.
    fn planned_bytes_per_counter(_plan: &Plan) -> u64 {
        size_of::<Self::Cell>() as u64
    }

    fn new(plan: &Plan) -> Result<Self, Error>;

    fn cell(&self) -> Self::Cell;

    /// A thread, by its number from 0, begins to count.
    fn enter(&self, thread: usize) -> Self::Local;

    /// Adds 1 in the strategy's own way.
    fn increment(&self, local: &mut Self::Local, cell: &Self::Cell, counter: usize);

    fn leave(&self, _local: Self::Local) {}

    /// Reads a counter; other threads may be counting.
    fn sum(&self, cell: &Self::Cell, counter: usize) -> u64;

    /// Names the places where a counter is stored: an address, and how many bytes from there on.
    fn stored(&self, cell: &Self::Cell, _counter: usize, each: &mut dyn FnMut(usize, usize)) {
        each(std::ptr::from_ref(cell).addr(), size_of::<Self::Cell>());
    }

    /// Bytes this counter takes now, for those that grow.
    fn bytes_of(&self, plan: &Plan, _cell: &Self::Cell) -> u64 {
        Self::planned_bytes_per_counter(plan)
    }
}
