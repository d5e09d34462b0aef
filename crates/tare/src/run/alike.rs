//! Notices when every trial fails for the same reason: going on would tell nothing new.

use std::collections::BTreeSet;
use tare_results::schema::{Outcome, TrialRecord};

const TRIALS: usize = 3;
/// Conditions among them, where the plan has as many: one bad level of a factor must not end a study.
const CONDITIONS: usize = 8;

/// The failures of this run so far, as long as nothing else has happened.
#[derive(Debug, Default)]
pub struct Alike {
    reason: Option<String>,
    trials: usize,
    conditions: BTreeSet<String>,
    other: bool,
}

impl Alike {
    /// Takes the end of an attempt. The reason when all attempts so far, of enough conditions of the `planned` ones,
    /// failed for it.
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

    /// Whether a trial ended in another way, after which nothing is alike any more.
    pub fn ended_otherwise(&mut self, record: &TrialRecord) {
        self.other |= record.outcome != Outcome::Failed || record.reason.is_none();
    }
}

/// Process ids, ports and numbers of trials differ where the reason is the same.
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
    fn the_same_reason_in_every_condition_is_enough_and_a_good_trial_or_another_reason_is_not() {
        let failed = |trial: usize| ended(trial, Outcome::Failed, &format!("pid {trial} has no such option"));
        assert_eq!(all(&[failed(0), failed(1), failed(2)]), Some((3, "pid 2 has no such option".into())));
        assert_eq!(all(&[failed(0), failed(2), failed(4)]), None, "one condition of two");
        let other = ended(1, Outcome::Failed, "killed");
        assert_eq!(all(&[failed(0), other, failed(2), failed(3)]), None);
        assert_eq!(all(&[failed(0), ended(1, Outcome::Ok, "hog"), failed(2), failed(3), failed(4)]), None);
    }
}
