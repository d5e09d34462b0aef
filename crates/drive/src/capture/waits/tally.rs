//! How often what was seen, by class of thread.

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
}

impl Tally {
    pub fn runs(&mut self) {
        self.samples += 1;
        self.running += 1;
    }

    pub fn sleeps(&mut self, process: i32, thread: i32, sleep: Sleep) {
        self.samples += 1;
        let seen = self.asleep.entry(sleep).or_insert_with(|| Sightings { process, ..Sightings::default() });
        seen.samples += 1;
        seen.threads.insert(thread);
    }
}
