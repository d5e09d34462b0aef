//! What clients count for themselves: each locks only its own, and a sample takes the sum.

use std::sync::{Arc, Mutex, PoisonError};

/// What can be summed over clients.
pub trait Merge {
    /// Takes in what another client counted.
    fn merge(&mut self, other: Self);
}

/// One tally a client.
pub struct Tallies<T> {
    /// What nobody has counted into yet.
    empty: T,
    each: Vec<Arc<Mutex<T>>>,
}

impl<T: Merge + Clone> Tallies<T> {
    /// For so many clients, each beginning with this one.
    pub fn new(clients: usize, empty: T) -> Self {
        let each = (0..clients).map(|_| Arc::new(Mutex::new(empty.clone()))).collect();
        Self { empty, each }
    }

    /// The one that a client counts into.
    pub fn of(&self, client: usize) -> Arc<Mutex<T>> {
        Arc::clone(&self.each[client])
    }

    /// What all have counted since the last call.
    pub fn take(&self) -> T {
        let mut sum = self.empty.clone();
        for tally in &self.each {
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            sum.merge(std::mem::replace(&mut *tally, self.empty.clone()));
        }
        sum
    }

    /// The sum of a number of each since the last [`Tallies::take`], while they go on counting.
    pub fn sum(&self, of: impl Fn(&T) -> u64) -> u64 {
        self.each.iter().map(|tally| of(&tally.lock().unwrap_or_else(PoisonError::into_inner))).sum()
    }
}
