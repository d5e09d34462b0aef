//! What clients count for themselves: each into its own, and the sum of a sample takes it in when the sample is over.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What can be summed over clients.
pub trait Merge {
    fn merge(&mut self, other: &Self);
    /// Forgets all, and keeps the memory.
    fn clear(&mut self);
    /// The time of each kind of statement, over all clients, where these were timed in the capture sample alone.
    fn statements(&self) -> BTreeMap<String, Duration> {
        BTreeMap::new()
    }
}

pub struct Tallies<T> {
    empty: T,
    samples: Mutex<Vec<T>>,
}

impl<T: Merge + Clone> Tallies<T> {
    pub fn new(empty: T) -> Self {
        Self { empty, samples: Mutex::default() }
    }

    pub fn empty(&self) -> T {
        self.empty.clone()
    }

    /// Takes in what a client counted in a sample, from 0, and clears it. The client's thread is between samples then.
    pub fn hand_over(&self, sample: usize, counted: &mut T) {
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        if samples.len() <= sample {
            samples.resize_with(sample + 1, || self.empty.clone());
        }
        samples[sample].merge(counted);
        counted.clear();
    }

    pub fn take(&self, count: usize) -> Vec<T> {
        let mut samples = std::mem::take(&mut *self.samples.lock().unwrap_or_else(PoisonError::into_inner));
        samples.resize_with(count, || self.empty.clone());
        samples
    }
}
