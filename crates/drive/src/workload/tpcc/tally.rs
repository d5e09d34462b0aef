//! What clients count: latency by transaction, what was rolled back, what was run again.

use super::Kind;
use super::transactions::Ended;
use crate::workload::sessions::Merge;
use std::time::Duration;
use tare_load::Latencies;

#[derive(Debug, Clone, Default)]
pub struct Tally {
    took: [Latencies; 5],
    /// New orders that ended with an item that there is not.
    rolled_back: u64,
    /// By kind: attempts that the database asked to run again.
    retries: [u64; 5],
}

impl Tally {
    pub(super) fn done(&mut self, kind: Kind, took: Duration, ended: Ended) {
        self.took[kind as usize].record(took.as_nanos() as u64);
        self.rolled_back += u64::from(ended == Ended::RolledBack);
    }

    pub(super) fn retried(&mut self, kind: Kind) {
        self.retries[kind as usize] += 1;
    }

    /// How long transactions of a kind took, restarts included.
    pub fn took(&self, kind: Kind) -> &Latencies {
        &self.took[kind as usize]
    }

    pub fn count(&self) -> u64 {
        self.took.iter().map(Latencies::count).sum()
    }

    /// New orders a minute, where so many transactions of all kinds were done a second.
    pub fn new_orders_a_minute(&self, tps: f64) -> f64 {
        60.0 * tps * self.took(Kind::NewOrder).count() as f64 / self.count().max(1) as f64
    }

    /// New orders that were rolled back because the standard wants it.
    pub fn rolled_back(&self) -> u64 {
        self.rolled_back
    }

    /// Attempts at transactions of a kind that the database asked to run again.
    pub fn retries(&self, kind: Kind) -> u64 {
        self.retries[kind as usize]
    }
}

impl Merge for Tally {
    fn merge(&mut self, other: &Self) {
        self.took.iter_mut().zip(&other.took).for_each(|(sum, other)| sum.merge(other));
        self.rolled_back += other.rolled_back;
        self.retries.iter_mut().zip(&other.retries).for_each(|(sum, other)| *sum += other);
    }

    fn clear(&mut self) {
        self.took.iter_mut().for_each(Latencies::clear);
        (self.rolled_back, self.retries) = (0, [0; 5]);
    }
}
