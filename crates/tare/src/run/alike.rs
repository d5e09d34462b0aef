//! Detects that every trial fails for the same reason, so that the run can stop early.

use std::collections::BTreeSet;
use tare_results::schema::{Outcome, TrialRecord};

const TRIALS: usize = 3;
/// Conditions that must have failed, or all if there are fewer: one bad level of a factor must not end a study.
const CONDITIONS: usize = 8;

/// The failures of this run so far, valid until a trial ends in another way.
#[derive(Debug, Default)]
pub struct Alike {
    reason: Option<String>,
    trials: usize,
    conditions: BTreeSet<String>,
    other: bool,
}

impl Alike {
    /// Records the end of an attempt. Returns the number of attempts and the reason if all attempts so far failed for
    /// the same reason, in enough of the `planned` conditions.
    pub fn take(&mut self, record: &TrialRecord, planned: usize) -> Option<(usize, String)> {
        let reason = record.reason.as_deref().filter(|_| record.outcome == Outcome::Failed)?;
        self.trials += 1;
        self.conditions.insert(record.condition.clone());
        match &self.reason {
            Some(first) => self.other |= without_numbers(first) != without_numbers(reason),
            None => self.reason = Some(reason.to_owned()),
        }
        let enough = self.trials >= TRIALS && self.conditions.len() >= CONDITIONS.min(planned);
        (enough && !self.other).then(|| (self.trials, reason.to_owned()))
    }

    /// Notes a trial that ended in another way; after that, failures are no longer all alike.
    pub fn ended_otherwise(&mut self, record: &TrialRecord) {
        self.other |= record.outcome != Outcome::Failed || record.reason.is_none();
    }
}

/// Removes process ids, ports and numbers of trials, which differ although the reason is the same.
fn without_numbers(reason: &str) -> String {
    reason.chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::schema::PlannedTrial;

    fn ended(trial: usize, outcome: Outcome, reason: &str) -> TrialRecord {
        let planned = PlannedTrial { trial, block: 0, condition: format!("c{}", trial % 2), lifetime: None };
        TrialRecord {
            outcome,
            reason: Some(reason.to_owned()),
            ..TrialRecord::new(&planned, 1, Default::default(), String::new())
        }
    }

    fn all(records: &[TrialRecord]) -> Option<(usize, String)> {
        let mut alike = Alike::default();
        records.iter().find_map(|record| {
            alike.ended_otherwise(record);
            alike.take(record, 2)
        })
    }

    #[test]
    fn a_run_stops_early_only_if_every_condition_fails_for_the_same_reason() {
        let failed = |trial: usize| ended(trial, Outcome::Failed, &format!("pid {trial} has no such option"));
        assert_eq!(all(&[failed(0), failed(1), failed(2)]), Some((3, "pid 2 has no such option".into())));
        assert_eq!(all(&[failed(0), failed(2), failed(4)]), None, "one condition of two");
        let other = ended(1, Outcome::Failed, "killed");
        assert_eq!(all(&[failed(0), other, failed(2), failed(3)]), None);
        assert_eq!(all(&[failed(0), ended(1, Outcome::Ok, "hog"), failed(2), failed(3), failed(4)]), None);
    }
}
