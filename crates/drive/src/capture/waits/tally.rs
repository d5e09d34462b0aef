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
    /// Samples of sleep by the number of their chain. A stack is lost if its thread wakes while it is read, more often
    /// in short sleeps: so the samples of each sleep are divided among its own chains, and those of a sleep without any
    /// among the chains of its kind.
    pub(crate) fn of_chains(&self) -> HashMap<usize, f64> {
        let mut kinds: HashMap<Option<TimeUse>, (f64, HashMap<usize, u64>)> = HashMap::new();
        let mut chains: HashMap<usize, f64> = HashMap::new();
        for (sleep, seen) in &self.asleep {
            let (unread, of_kind) = kinds.entry(sleep.kind()).or_default();
            match seen.callers.is_empty() {
                true => *unread += seen.samples as f64,
                false => divide(seen.samples as f64, &seen.callers, &mut chains),
            }
            seen.callers.iter().for_each(|(chain, count)| *of_kind.entry(*chain).or_default() += count);
        }
        kinds.values().for_each(|(unread, of_kind)| divide(*unread, of_kind, &mut chains));
        chains
    }

    pub(crate) fn runs(&mut self) {
        self.samples += 1;
        self.running += 1;
    }

    pub(crate) fn sleeps(&mut self, process: i32, thread: i32, sleep: Sleep, caller: Option<usize>) {
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

fn divide(samples: f64, among: &HashMap<usize, u64>, chains: &mut HashMap<usize, f64>) {
    let all: u64 = among.values().sum();
    for (chain, count) in among {
        *chains.entry(*chain).or_default() += samples * *count as f64 / all as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::super::sleep::Futex;
    use super::*;
    use tare_results::waits::FutexOperation;

    /// Half of the sleep waits for clients; the other half are short commits, of which 60% of the stacks are lost.
    #[test]
    fn chains_of_short_sleeps_weigh_as_much_as_those_of_long_ones() {
        let mut tally = Tally::default();
        (0..100).for_each(|_| tally.sleeps(1, 1, Sleep::In(TimeUse::Client, None), Some(7)));
        for number in 0..100 {
            // Every second commit sleeps at an address of its own, and some of these were never read.
            let address = if number % 2 == 0 { 0 } else { number };
            let futex = Futex { process: Some(1), address, operation: FutexOperation::Wait };
            tally.sleeps(1, 1, Sleep::Futex(futex), (number % 5 < 2).then_some(8));
        }
        tally.runs();
        let found = tally.of_chains();
        assert!((found[&7] - 100.0).abs() < 1e-9 && (found[&8] - 100.0).abs() < 1e-9, "{found:?}");
    }

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
