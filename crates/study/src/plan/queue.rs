//! Which trial comes next: the plan's order; failed and disturbed trials are repeated at the end, up to the limit.

use std::collections::{BTreeMap, VecDeque};
use tare_results::schema::{Outcome, PlannedTrial, TrialRecord};

/// A trial to run, and which attempt at it this is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    pub trial: PlannedTrial,
    /// The first one is 1.
    pub attempt: u32,
}

/// The rest of a plan. Rebuilt from the records, it continues where an interrupted run stopped.
#[derive(Debug)]
pub struct Queue {
    waiting: VecDeque<Next>,
    attempts: u32,
    done: usize,
    given_up: usize,
}

impl Queue {
    /// The plan's trials without those that the records show as done.
    pub fn new(trials: &[PlannedTrial], records: &[TrialRecord], attempts: u32) -> Self {
        let mut last: BTreeMap<usize, (u32, Outcome)> = BTreeMap::new();
        for record in records {
            let entry = last.entry(record.trial).or_insert((record.attempt, record.outcome));
            if record.attempt >= entry.0 {
                *entry = (record.attempt, record.outcome);
            }
        }
        let mut queue = Self { waiting: VecDeque::new(), attempts, done: 0, given_up: 0 };
        let mut again = Vec::new();
        for trial in trials {
            match last.get(&trial.trial) {
                None => queue.waiting.push_back(Next { trial: trial.clone(), attempt: 1 }),
                Some((_, Outcome::Ok)) => queue.done += 1,
                Some((attempt, _)) if *attempt >= attempts => queue.given_up += 1,
                Some((attempt, _)) => again.push(Next { trial: trial.clone(), attempt: attempt + 1 }),
            }
        }
        queue.waiting.extend(again);
        queue
    }

    pub fn take(&mut self) -> Option<Next> {
        self.waiting.pop_front()
    }

    /// Also takes the next trial if it is the other one of the same block and attempt: a pair that runs together.
    pub fn take_with(&mut self, next: &Next) -> Option<Next> {
        let is_other = |other: &Next| other.trial.block == next.trial.block && other.attempt == next.attempt;
        if self.waiting.front().is_some_and(is_other) { self.waiting.pop_front() } else { None }
    }

    pub fn ended(&mut self, next: Next, outcome: Outcome) {
        if outcome == Outcome::Ok {
            self.done += 1;
        } else if next.attempt >= self.attempts {
            self.given_up += 1;
        } else {
            self.waiting.push_back(Next { attempt: next.attempt + 1, ..next });
        }
    }

    /// Trials still to run, as far as known.
    pub fn left(&self) -> usize {
        self.waiting.len()
    }

    pub fn done(&self) -> usize {
        self.done
    }

    pub fn given_up(&self) -> usize {
        self.given_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(count: usize) -> Vec<PlannedTrial> {
        (0..count)
            .map(|trial| PlannedTrial { trial, block: 0, condition: format!("c{trial}"), lifetime: None })
            .collect()
    }

    fn record(trial: usize, attempt: u32, outcome: Outcome) -> TrialRecord {
        let planned = PlannedTrial { trial, block: 0, condition: format!("c{trial}"), lifetime: None };
        TrialRecord { outcome, ..TrialRecord::new(&planned, attempt, BTreeMap::new(), String::new()) }
    }

    fn drain(mut queue: Queue, mut outcome: impl FnMut(&Next) -> Outcome) -> (Vec<(usize, u32)>, Queue) {
        let mut order = Vec::new();
        while let Some(next) = queue.take() {
            order.push((next.trial.trial, next.attempt));
            let ended = outcome(&next);
            queue.ended(next, ended);
        }
        (order, queue)
    }

    #[test]
    fn a_failed_trial_comes_again_at_the_end_and_not_more_often_than_allowed() {
        let queue = Queue::new(&planned(3), &[], 2);
        let (order, queue) = drain(queue, |n| if n.trial.trial == 0 { Outcome::Failed } else { Outcome::Ok });
        assert_eq!(order, [(0, 1), (1, 1), (2, 1), (0, 2)]);
        assert_eq!((queue.done(), queue.given_up()), (2, 1));
    }

    #[test]
    fn an_interrupted_run_goes_on_in_the_same_order() {
        let records = [
            record(0, 1, Outcome::Ok),
            record(1, 1, Outcome::Disturbed),
            record(2, 1, Outcome::Failed),
            record(2, 2, Outcome::Failed),
        ];
        let queue = Queue::new(&planned(5), &records, 2);
        assert_eq!((queue.done(), queue.given_up(), queue.left()), (1, 1, 3));
        let (order, _) = drain(queue, |_| Outcome::Ok);
        assert_eq!(order, [(3, 1), (4, 1), (1, 2)]);
    }
}
