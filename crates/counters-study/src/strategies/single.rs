//! One relaxed atomic per counter.

use super::counting::{Counting, Plan};
use crate::workload::Error;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) struct Atomic;

impl Counting for Atomic {
    type Cell = AtomicU64;
    type Local = ();

    fn new(_: &Plan) -> Result<Self, Error> {
        Ok(Self)
    }

    fn cell(&self) -> Self::Cell {
        AtomicU64::new(0)
    }

    fn enter(&self, _: usize) {}

    #[inline]
    fn increment(&self, (): &mut (), cell: &Self::Cell, _: usize) {
        cell.fetch_add(1, Ordering::Relaxed);
    }

    fn sum(&self, cell: &Self::Cell, _: usize) -> u64 {
        cell.load(Ordering::Relaxed)
    }
}
