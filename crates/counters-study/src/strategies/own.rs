//! The counters of `tare-counters` as a strategy.

use super::counting::{Counting, Plan};
use crate::workload::Error;
use tare_counters::{CounterSet, cpus};

pub(crate) struct Own(CounterSet);

impl Counting for Own {
    type Cell = ();
    type Local = ();

    fn planned_bytes_per_counter(_: &Plan) -> u64 {
        (cpus::possible() * size_of::<u64>()) as u64
    }

    fn new(plan: &Plan) -> Result<Self, Error> {
        Ok(Self(CounterSet::new(plan.counters)?))
    }

    fn cell(&self) {}

    fn enter(&self, _: usize) {}

    #[inline]
    fn increment(&self, (): &mut (), (): &(), counter: usize) {
        self.0.increment(counter);
    }

    fn sum(&self, (): &(), counter: usize) -> u64 {
        self.0.sum(counter)
    }

    fn stored(&self, (): &(), counter: usize, each: &mut dyn FnMut(usize, usize)) {
        self.0.addresses(counter).for_each(|address| each(address, size_of::<u64>()));
    }
}
