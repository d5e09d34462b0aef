//! Interim looks at a study: after which blocks they are made, and the false-alarm rate of each.
//!
//! Every look but the last has a twentieth of the answer's false-alarm rate, and the last one has the rest (after
//! Haybittle 1971 and Peto and others 1976). These add up to the whole, so the error rate of the answer holds whatever
//! stopping rule is used between two looks, and whatever the distribution of the trials.

use crate::factor::LOADS;
use crate::schema::{Outcome, Plan, PlannedCondition, PlannedTrial, TrialRecord};
use serde::Serialize;
use std::collections::BTreeMap;
use tare_stats::sequential::LOOKS;

/// Share of the false-alarm rate for each look but the last.
const EARLY: f64 = 0.05;

/// Blocks after which a look is made, the last one after all blocks; the same blocks as for a comparison of pairs.
pub fn looks(blocks: usize) -> Vec<usize> {
    LOOKS.into_iter().filter(|look| *look < blocks).chain([blocks]).collect()
}

/// Whether a planned trial is still to run, or to be repeated because it was disturbed.
pub(crate) fn is_open(plan: &Plan, records: &[TrialRecord]) -> bool {
    let last: BTreeMap<usize, Outcome> = records.iter().map(|record| (record.trial, record.outcome)).collect();
    let is_stopped = plan.within.as_ref().is_some_and(|within| within.stopped > 0);
    let is_ended = |trial: &PlannedTrial| last.get(&trial.trial).is_some_and(|end| *end != Outcome::Disturbed);
    !is_stopped && !plan.trials.iter().all(is_ended)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Look {
    /// Its number, counted from 1.
    pub number: usize,
    /// Number of looks in all.
    pub of: usize,
    /// Blocks that are planned so far.
    pub blocks: usize,
    /// Blocks of the whole study.
    pub of_blocks: usize,
    /// Whether no further block can follow: all are planned, or the time was over.
    pub is_last: bool,
    /// Whether it is no look of the study, because planned trials are still to run: the study was interrupted.
    #[serde(skip)]
    pub is_open: bool,
}

impl Look {
    /// The look after the trials of this plan; none if the study is only looked at once, at the end.
    pub fn of(plan: &Plan, records: &[TrialRecord]) -> Option<Self> {
        let within = plan.within.as_ref()?;
        let (blocks, of_blocks) = (plan.blocks().len(), within.blocks?);
        let all = looks(of_blocks);
        let number = all.iter().position(|look| *look >= blocks)? + 1;
        let is_last = number == all.len() || within.stopped > 0;
        Some(Self { number, of: all.len(), blocks, of_blocks, is_last, is_open: is_open(plan, records) })
    }

    /// This look's share of the false-alarm rate. The last one has its share only once all of its trials have ended.
    pub fn share(&self) -> f64 {
        if self.is_last && !self.is_open { 1.0 - EARLY * (self.of - 1) as f64 } else { EARLY }
    }

    /// The share for a part of the study that ended after so many blocks. One that ended at an earlier look keeps the
    /// share of that look: it ended because of its own trials.
    pub fn share_after(&self, blocks: usize) -> f64 {
        if blocks < self.blocks { EARLY } else { self.share() }
    }
}

/// The loads that a look decided, so that no later block has a trial of them, each with the number of its blocks. Empty
/// for plans whose rungs are not chosen while they run: their blocks are complete.
pub fn ended_loads(plan: &Plan) -> BTreeMap<String, usize> {
    if plan.within.as_ref().is_none_or(|within| within.rungs.is_none()) {
        return BTreeMap::new();
    }
    let load = |planned: &PlannedCondition| LOADS.iter().find_map(|factor| planned.levels.get(*factor)).cloned();
    let loads: BTreeMap<&str, String> =
        plan.conditions.iter().filter_map(|planned| Some((planned.name.as_str(), load(planned)?))).collect();
    let mut ran: BTreeMap<String, usize> = BTreeMap::new();
    for trial in &plan.trials {
        if let Some(load) = loads.get(trial.condition.as_str()) {
            let blocks = ran.entry(load.clone()).or_default();
            *blocks = (*blocks).max(trial.block + 1);
        }
    }
    let all = ran.values().copied().max().unwrap_or_default();
    ran.retain(|_, blocks| *blocks < all);
    ran
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Within;

    #[test]
    fn shares_of_all_looks_are_the_whole_chance() {
        for (of_blocks, looked) in [(3, vec![3]), (5, vec![4, 5]), (10, vec![4, 6, 9, 10])] {
            let plan = |blocks: usize, stopped: usize| Plan {
                trials: (0..blocks)
                    .map(|block| PlannedTrial { trial: block, block, condition: String::new(), lifetime: None })
                    .collect(),
                within: Some(Within { blocks: Some(of_blocks), stopped, ..Within::default() }),
                ..Plan::default()
            };
            let share = |plan: Plan, left: usize| {
                let ended = plan.trials.iter().take(plan.trials.len() - left);
                let records: Vec<TrialRecord> =
                    ended.map(|trial| TrialRecord::new(trial, 1, BTreeMap::new(), String::new())).collect();
                Look::of(&plan, &records).unwrap().share()
            };
            assert_eq!(looks(of_blocks), looked);
            let all: f64 = looked.iter().map(|blocks| share(plan(*blocks, 0), 0)).sum();
            assert!((all - 1.0).abs() < 1e-12, "{all}");
            // The time was over before the last look.
            assert_eq!(share(plan(looked[0], 1), 1), share(plan(of_blocks, 0), 0));
            // Interrupted before it, what is left for it is not spent.
            assert_eq!(share(plan(of_blocks, 0), 1), EARLY);
        }
        assert_eq!(Look::of(&Plan::default(), &[]), None);
    }
}
