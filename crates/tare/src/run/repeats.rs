//! Detects that repeats do not help: if the disturbance does not end, repeating trials only takes time.

use std::collections::{BTreeMap, BTreeSet};
use tare_findings::state::is_disturbed;
use tare_results::schema::{Outcome, TrialRecord};

/// After this many consecutive repeats that were disturbed again, no more are made.
pub(crate) const IN_VAIN: usize = 5;

/// The outcome of repeats of disturbed trials, from the records of a run.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    set_aside: BTreeSet<usize>,
    in_a_row: usize,
}

impl Repeats {
    pub(crate) fn of(records: &[TrialRecord]) -> Self {
        let mut repeats = Self::default();
        records.iter().for_each(|record| repeats.take(record));
        repeats
    }

    /// Records the end of an attempt. A clean one shows that the disturbance has ended.
    pub(crate) fn take(&mut self, record: &TrialRecord) {
        let is_repeat = record.attempt > 1 && self.set_aside.contains(&record.trial);
        match record.outcome {
            Outcome::Failed => {}
            _ if !is_disturbed(record) => self.in_a_row = 0,
            _ if is_repeat => self.in_a_row += 1,
            _ => {}
        }
        if record.outcome == Outcome::Disturbed {
            self.set_aside.insert(record.trial);
        }
    }

    /// Whether a further repeat would most likely be disturbed as well.
    pub(crate) fn are_in_vain(&self) -> bool {
        self.in_a_row >= IN_VAIN
    }
}

/// The last disturbed attempt of each trial.
pub(crate) fn set_aside(records: Vec<TrialRecord>) -> BTreeMap<usize, TrialRecord> {
    let disturbed = records.into_iter().filter(|record| record.outcome == Outcome::Disturbed);
    disturbed.map(|record| (record.trial, record)).collect()
}

/// The record that makes such a trial count with its disturbed measurement, instead of a repeat.
pub(crate) fn counted(set_aside: &TrialRecord) -> TrialRecord {
    let reason = set_aside.reason.clone().unwrap_or_else(|| "no reason recorded".to_owned());
    TrialRecord { outcome: Outcome::Ok, attempt: set_aside.attempt + 1, reason: Some(reason), ..set_aside.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::schema::PlannedTrial;

    fn ended(trial: usize, attempt: u32, outcome: Outcome, reason: Option<&str>) -> TrialRecord {
        let planned = PlannedTrial { trial, block: 0, condition: "c".to_owned(), lifetime: None };
        TrialRecord {
            outcome,
            reason: reason.map(str::to_owned),
            ..TrialRecord::new(&planned, attempt, BTreeMap::new(), String::new())
        }
    }

    fn first(trial: usize) -> TrialRecord {
        ended(trial, 1, Outcome::Disturbed, Some("hog"))
    }

    fn again(trial: usize) -> TrialRecord {
        ended(trial, 2, Outcome::Ok, Some("hog"))
    }

    #[test]
    fn repeats_stop_after_five_disturbed_in_a_row_and_a_clean_one_resets_the_count() {
        let all: Vec<TrialRecord> = (0..9).map(first).chain((0..5).map(again)).collect();
        assert!(Repeats::of(&all).are_in_vain());
        assert!(!Repeats::of(&all[..13]).are_in_vain(), "four");
        let mut clean = all.clone();
        clean.push(ended(20, 1, Outcome::Ok, None));
        assert!(!Repeats::of(&clean).are_in_vain());
        let failed: Vec<TrialRecord> = (0..9).map(|trial| ended(trial, 1, Outcome::Failed, Some("died"))).collect();
        let repeats: Vec<TrialRecord> = failed.into_iter().chain((0..9).map(again)).collect();
        assert!(!Repeats::of(&repeats).are_in_vain(), "repeats of what failed are another thing");
    }

    #[test]
    fn a_disturbed_trial_that_counts_stays_marked_as_disturbed() {
        let record = counted(&set_aside(vec![first(3)])[&3]);
        assert_eq!((record.trial, record.attempt, record.outcome), (3, 2, Outcome::Ok));
        assert!(is_disturbed(&record) && record.reason.as_deref() == Some("hog"), "{record:?}");
    }
}
