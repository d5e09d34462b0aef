//! Slots for single counters, taken from sets that the whole process shares: a row takes whole pages, too much for one
//! counter.

use crate::backend::Backend;
use crate::error::Error;
use crate::set::CounterSet;
use crate::snapshot::PerCpu;
use std::sync::{Mutex, PoisonError};

/// Counters in a shared set: one page of 4 KiB per row.
const CHUNK: usize = 512;

/// A slot and the values it had when it was allocated: slots are reused, and are never written to reset them.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) set: &'static CounterSet,
    pub(crate) index: usize,
    base: PerCpu<u64>,
    base_sum: u64,
}

type Free = Vec<(&'static CounterSet, usize)>;

static FREE: [Mutex<Free>; 4] = [const { Mutex::new(Vec::new()) }; 4];

impl Slot {
    pub(crate) fn take(backend: Backend) -> Result<Self, Error> {
        let mut free = lock(backend);
        if free.is_empty() {
            // Never freed: counters in statics use it until the process ends.
            let set: &'static CounterSet = Box::leak(Box::new(CounterSet::with_backend(CHUNK, backend)?));
            free.extend((0..CHUNK).rev().map(|index| (set, index)));
        }
        let Some((set, index)) = free.pop() else {
            return Err(Error::Memory { counters: CHUNK, rows: 0, source: None });
        };
        Ok(Self { set, index, base: set.per_cpu(index), base_sum: set.sum(index) })
    }

    pub(crate) fn sum(&self) -> u64 {
        self.set.sum(self.index).wrapping_sub(self.base_sum)
    }

    pub(crate) fn per_cpu(&self) -> PerCpu<u64> {
        let mut now = self.set.per_cpu(self.index);
        now.cpus.iter_mut().zip(&self.base.cpus).for_each(|(now, &base)| *now = now.wrapping_sub(base));
        now.unattributed = now.unattributed.wrapping_sub(self.base.unattributed);
        now
    }
}

impl Drop for Slot {
    /// Only the counter's owner uses the slot, so no add is under way, and the base of the next owner is exact.
    fn drop(&mut self) {
        lock(self.set.backend()).push((self.set, self.index));
    }
}

fn lock(backend: Backend) -> std::sync::MutexGuard<'static, Free> {
    // Each operation adds or removes whole entries, so a panic cannot leave the list inconsistent.
    FREE[backend as usize].lock().unwrap_or_else(PoisonError::into_inner)
}
