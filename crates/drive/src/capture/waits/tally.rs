//! How often what was seen, by class of thread.

use super::programs::Place;
use super::sleep::Sleep;
use std::collections::{BTreeSet, HashMap};

/// What was seen of the threads of one class.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub samples: u64,
    pub running: u64,
    /// Samples of page faults and the like are [`Sleep::In`] too.
    pub asleep: HashMap<Sleep, Sightings>,
}

/// How often, and by which threads, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Sightings {
    pub samples: u64,
    pub threads: BTreeSet<i32>,
    /// The process of the thread that was seen first.
    pub process: i32,
    /// Functions outside the C library that they were called from, as far as their stacks were read.
    pub callers: HashMap<Place, u64>,
}

impl Tally {
    pub fn runs(&mut self) {
        self.samples += 1;
        self.running += 1;
    }

    pub fn sleeps(&mut self, process: i32, thread: i32, sleep: Sleep, caller: Option<Place>) {
        self.samples += 1;
        let seen = self.asleep.entry(sleep).or_insert_with(|| Sightings { process, ..Sightings::default() });
        seen.samples += 1;
        seen.threads.insert(thread);
        if let Some(caller) = caller {
            *seen.callers.entry(caller).or_default() += 1;
        }
    }
}
