//! Detects that every trial fails for the same reason, so that the run can stop early.

use super::RunError;
use std::collections::BTreeSet;
use tare_results::schema::{Outcome, Plan, TrialRecord};

const TRIALS: usize = 3;
/// Conditions that must have failed, or all if there are fewer: one bad level of a factor must not end a study.
const CONDITIONS: usize = 8;

/// How the trials of this run have ended so far: all of them, and those of each side of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Alike {
    all: Failures,
    sides: [Failures; 2],
}

#[derive(Debug, Default)]
struct Failures {
    /// The reason of the last one.
    reason: Option<String>,
    trials: usize,
    conditions: BTreeSet<String>,
    /// Whether a trial ended in another way.
    other: bool,
}

impl Alike {
    /// Records the end of an attempt.
    pub(crate) fn take(&mut self, record: &TrialRecord, plan: &Plan) {
        self.all.take(record);
        if let Some(rule) = &plan.settle {
            let is_side = [rule.is_a(&record.condition), rule.is_b(&record.condition)];
            self.sides.iter_mut().zip(is_side).filter(|(_, own)| *own).for_each(|(side, _)| side.take(record));
        }
    }

    /// The error if all attempts so far failed for the same reason, in enough of the plan's conditions.
    pub(crate) fn all(&self, plan: &Plan) -> Option<RunError> {
        let planned = plan.conditions.iter().filter(|condition| condition.realizable).count();
        self.all.alike(CONDITIONS.min(planned), None)
    }

    /// The error if all attempts of one side of a comparison so far failed for the same reason.
    pub(crate) fn of_a_side(&self) -> Option<RunError> {
        self.sides.iter().zip(["A", "B"]).find_map(|(failures, side)| failures.alike(1, Some(side)))
    }
}

impl Failures {
    fn take(&mut self, record: &TrialRecord) {
        let Some(reason) = record.reason.as_deref().filter(|_| record.outcome == Outcome::Failed) else {
            self.other = true;
            return;
        };
        self.trials += 1;
        self.conditions.insert(record.condition.clone());
        let last = self.reason.replace(reason.to_owned());
        self.other |= last.is_some_and(|last| without_numbers(&last) != without_numbers(reason));
    }

    fn alike(&self, conditions: usize, side: Option<&'static str>) -> Option<RunError> {
        let enough = self.trials >= TRIALS && self.conditions.len() >= conditions;
        let reason = self.reason.clone().filter(|_| enough && !self.other)?;
        Some(RunError::SameReason { side, trials: self.trials, reason })
    }
}

/// Removes process ids, ports and numbers of trials, which differ although the reason is the same.
fn without_numbers(reason: &str) -> String {
    reason.chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::pairs::Rule;
    use tare_results::schema::{PlannedCondition, PlannedTrial, Settle};

    fn ended(trial: usize, outcome: Outcome, reason: &str) -> TrialRecord {
        let planned = PlannedTrial { trial, block: 0, condition: format!("c{}", trial % 2), lifetime: None };
        TrialRecord {
            outcome,
            reason: Some(reason.to_owned()),
            ..TrialRecord::new(&planned, 1, Default::default(), String::new())
        }
    }

    fn failed(trial: usize) -> TrialRecord {
        ended(trial, Outcome::Failed, &format!("pid {trial} has no such option"))
    }

    /// The first error of all trials, or of one side.
    fn first(records: &[TrialRecord], of_a_side: bool) -> Option<(Option<&'static str>, usize, String)> {
        let two = ["c0", "c1"].map(str::to_owned);
        let made =
            |name: &String| PlannedCondition { name: name.clone(), realizable: true, ..PlannedCondition::default() };
        let conditions = two.iter().map(made).collect();
        let plan = Plan { conditions, settle: Some(Settle::between(two, Rule::Looks, 1)), ..Plan::default() };
        let mut alike = Alike::default();
        let error = records.iter().find_map(|record| {
            alike.take(record, &plan);
            if of_a_side { alike.of_a_side() } else { alike.all(&plan) }
        });
        error.map(|error| match error {
            RunError::SameReason { side, trials, reason } => (side, trials, reason),
            other => panic!("{other}"),
        })
    }

    #[test]
    fn a_run_stops_early_only_if_every_condition_fails_for_the_same_reason() {
        let all = |records: &[TrialRecord]| first(records, false);
        assert_eq!(all(&[failed(0), failed(1), failed(2)]), Some((None, 3, "pid 2 has no such option".into())));
        assert_eq!(all(&[failed(0), failed(2), failed(4)]), None, "one condition of two");
        let other = ended(1, Outcome::Failed, "killed");
        assert_eq!(all(&[failed(0), other, failed(2), failed(3)]), None);
        assert_eq!(all(&[failed(0), ended(1, Outcome::Ok, "hog"), failed(2), failed(3), failed(4)]), None);
    }

    #[test]
    fn a_side_that_fails_each_time_for_the_same_reason_is_found_whatever_the_other_side_does() {
        let side = |records: &[TrialRecord]| first(records, true);
        let ok = |trial| ended(trial, Outcome::Ok, "hog");
        let found = Some((Some("B"), 3, "pid 5 has no such option".into()));
        assert_eq!(side(&[failed(1), ok(0), ok(2), failed(3), failed(5)]), found);
        assert_eq!(side(&[failed(1), ok(0), ok(2), failed(3), ok(5), failed(7)]), None);
        assert_eq!(side(&[failed(1), failed(3), ended(5, Outcome::Failed, "killed")]), None);
    }
}
