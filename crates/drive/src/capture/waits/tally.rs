//! Counts of samples, by class of thread.

use super::sleep::Sleep;
use std::collections::{BTreeSet, HashMap};
use tare_results::waits::TimeUse;

/// Limits: distinct sleeps, and call chains per sleep. Servers have some thousands; the limits bound the memory for a
/// server that keeps creating new ones.
const SLEEPS: usize = 100_000;
const CALLERS: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Tally {
    pub samples: u64,
    pub running: u64,
    /// Samples of page faults and similar are [`Sleep::In`] too.
    pub asleep: HashMap<Sleep, Sightings>,
}

/// Number of samples, and the ids of the threads.
#[derive(Debug, Default)]
pub(super) struct Sightings {
    pub samples: u64,
    pub threads: BTreeSet<i32>,
    /// The process of the thread that was seen first.
    pub process: i32,
    /// Chain number -> samples, for the samples whose stacks were read.
    pub callers: HashMap<usize, u64>,
}

impl Tally {
    pub fn runs(&mut self) {
        self.samples += 1;
        self.running += 1;
    }

    pub fn sleeps(&mut self, process: i32, thread: i32, sleep: Sleep, caller: Option<usize>) {
        self.samples += 1;
        let is_kept = self.asleep.len() < SLEEPS || self.asleep.contains_key(&sleep);
        let sleep = if is_kept { sleep } else { Sleep::In(TimeUse::Other, None) };
        let seen = self.asleep.entry(sleep).or_insert_with(|| Sightings { process, ..Sightings::default() });
        seen.samples += 1;
        seen.threads.insert(thread);
        if let Some(caller) = caller.filter(|caller| seen.callers.len() < CALLERS || seen.callers.contains_key(caller))
        {
            *seen.callers.entry(caller).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeps_beyond_the_limit_of_kinds_are_counted_together() {
        let mut tally = Tally::default();
        for number in 0..SLEEPS + 10 {
            tally.sleeps(1, 1, Sleep::In(TimeUse::Read, Some(number.to_string())), Some(number));
            tally.sleeps(1, 1, Sleep::In(TimeUse::Client, None), Some(number));
        }
        assert_eq!(tally.asleep.len(), SLEEPS + 1);
        assert_eq!(tally.asleep[&Sleep::In(TimeUse::Other, None)].samples, 11);
        assert_eq!(tally.asleep[&Sleep::In(TimeUse::Client, None)].callers.len(), CALLERS);
    }
}
