//! The interface of every strategy.

use crate::workload::Error;

/// What a strategy needs to know before it allocates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub counters: usize,
    pub threads: usize,
    pub seed: u64,
}

/// A way to keep counters that many threads increment. The workload's loop is compiled once for each implementation, so
/// that no strategy pays for an indirect call.
///
/// A counter is a `Cell`, which the workload keeps where the original program keeps its counter objects (on the heap,
/// between data blocks), and a number, for strategies that store their counters elsewhere (their `Cell` is empty).
pub(crate) trait Counting: Send + Sync + Sized {
    type Cell: Send + Sync;
    type Local;

    /// Bytes that one counter takes, known before anything is allocated.
    fn planned_bytes_per_counter(_plan: &Plan) -> u64 {
        size_of::<Self::Cell>() as u64
    }

    fn new(plan: &Plan) -> Result<Self, Error>;

    fn cell(&self) -> Self::Cell;

    /// Called when a thread begins to count; threads are numbered from 0.
    fn enter(&self, thread: usize) -> Self::Local;

    fn increment(&self, local: &mut Self::Local, cell: &Self::Cell, counter: usize);

    fn leave(&self, _local: Self::Local) {}

    /// Reads a counter; other threads may be counting meanwhile.
    fn sum(&self, cell: &Self::Cell, counter: usize) -> u64;

    /// Calls `each` with the address and the length in bytes of every place where a counter is stored.
    fn stored(&self, cell: &Self::Cell, _counter: usize, each: &mut dyn FnMut(usize, usize)) {
        each(std::ptr::from_ref(cell).addr(), size_of::<Self::Cell>());
    }

    /// Bytes that this counter takes now, for strategies whose counters grow.
    fn bytes_of(&self, plan: &Plan, _cell: &Self::Cell) -> u64 {
        Self::planned_bytes_per_counter(plan)
    }
}
