//! Query plans: queries that ran with more than one plan, which explains differences between their times.

use super::collect::ConditionTrials;
use serde::Serialize;
use std::collections::BTreeMap;
use tare_results::metric;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueryPlans {
    /// The metric that holds the query's seconds.
    pub metric: String,
    /// Its plans, the one of most trials first.
    pub plans: Vec<PlanUse>,
    /// Conditions with more than one plan among their own trials: there the plan is a cause of the differences.
    pub changed_within: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanUse {
    pub name: String,
    /// As the server printed it, without estimates.
    pub text: String,
    /// Condition -> its trials with this plan and the mean of their metric.
    pub conditions: BTreeMap<String, PlanTrials>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanTrials {
    pub trials: Vec<usize>,
    /// Mean of the query's metric over these trials.
    pub mean: f64,
}

/// Queries with more than one plan, in the order of their numbers.
pub(super) fn find(conditions: &[ConditionTrials<'_>]) -> Vec<QueryPlans> {
    let mut names: Vec<&String> =
        conditions.iter().flat_map(|condition| &condition.ok).flat_map(|trial| trial.plans.keys()).collect();
    names.sort_by_cached_key(|name| metric::sort_key(name));
    names.dedup();
    names.into_iter().filter_map(|name| of(conditions, name)).collect()
}

/// Condition -> its trials with a plan, each with its mean.
type Uses = BTreeMap<String, Vec<(usize, f64)>>;

fn of(conditions: &[ConditionTrials<'_>], name: &str) -> Option<QueryPlans> {
    let mut uses: BTreeMap<&str, Uses> = BTreeMap::new();
    for condition in conditions {
        for (trial, mean) in condition.with(name) {
            let Some(plan) = trial.plans.get(name) else { continue };
            let known = uses.entry(plan).or_default().entry(condition.name.to_owned()).or_default();
            known.push((trial.trial, mean));
        }
    }
    if uses.len() < 2 {
        return None;
    }
    let mut plans: Vec<PlanUse> = uses
        .into_iter()
        .map(|(text, conditions)| PlanUse {
            name: short(text),
            text: text.to_owned(),
            conditions: conditions.into_iter().map(|(name, trials)| (name, over(&trials))).collect(),
        })
        .collect();
    plans.sort_by_key(|plan| std::cmp::Reverse(plan.conditions.values().map(|c| c.trials.len()).sum::<usize>()));
    let several = |condition: &&ConditionTrials<'_>| {
        plans.iter().filter(|plan| plan.conditions.contains_key(condition.name)).count() > 1
    };
    let changed_within = conditions.iter().filter(several).map(|condition| condition.name.to_owned()).collect();
    Some(QueryPlans { metric: name.to_owned(), plans, changed_within })
}

fn over(trials: &[(usize, f64)]) -> PlanTrials {
    let mean = trials.iter().map(|(_, mean)| mean).sum::<f64>() / trials.len().max(1) as f64;
    PlanTrials { trials: trials.iter().map(|(trial, _)| *trial).collect(), mean }
}

/// A short name of a plan, always the same for the same text.
pub(super) fn short(text: &str) -> String {
    format!("{:06x}", fnv1a(text) >> 8)
}

/// A number for a text, the same in every version and on every machine (Fowler, Noll and Vo's FNV-1a).
pub(super) fn fnv1a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::{Category, Feature, Property, features};
    use tare_results::schema::{Levels, PlannedTrial, SampleRecord, TrialRecord};

    const METRIC: &str = "query_s_q12";

    fn trial(trial: usize, condition: &str, seconds: f64, plan: &str) -> TrialRecord {
        let planned = PlannedTrial { trial, block: trial, condition: condition.to_owned(), lifetime: None };
        let mut record = TrialRecord::new(&planned, 1, Levels::new(), String::new());
        record.samples.push(SampleRecord {
            elapsed_s: seconds,
            metrics: BTreeMap::from([(METRIC.to_owned(), seconds)]),
            ..SampleRecord::default()
        });
        record.plans.insert(METRIC.to_owned(), plan.to_owned());
        record
    }

    fn of<'a>(name: &'a str, levels: &'a Levels, trials: &'a [TrialRecord]) -> ConditionTrials<'a> {
        ConditionTrials {
            name,
            levels,
            factors: [].into(),
            ok: trials.iter().collect(),
            failed: Vec::new(),
            set_aside: Vec::new(),
            blocked: true,
            at_best: false,
        }
    }

    #[test]
    fn a_plan_that_changed_between_trials_is_a_cause_and_one_between_conditions_is_not() {
        let levels = Levels::new();
        let (scan, index) = ("orders | ALL\nlineitem | ref", "orders | ALL\nlineitem | range");
        let steady: Vec<TrialRecord> = (0..4).map(|n| trial(n, "steady", 0.1, scan)).collect();
        let other: Vec<TrialRecord> = (4..8).map(|n| trial(n, "other", 0.2, index)).collect();
        let two = find(&[of("steady", &levels, &steady), of("other", &levels, &other)]);
        assert_eq!((two[0].plans.len(), two[0].changed_within.is_empty()), (2, true));
        let jumpy: Vec<TrialRecord> = (0..6)
            .map(|n| if n % 3 == 2 { trial(n, "jumpy", 0.3, index) } else { trial(n, "jumpy", 0.1, scan) })
            .collect();
        let found = find(&[of("jumpy", &levels, &jumpy)]);
        assert_eq!(found[0].changed_within, ["jumpy"]);
        let uses: Vec<usize> = found[0].plans.iter().map(|plan| plan.conditions["jumpy"].trials.len()).collect();
        assert_eq!(uses, [4, 2]);
        assert!(find(&[of("steady", &levels, &steady)]).is_empty(), "one plan is not reported");
        // A jump that coincides with the plan can be explained by it.
        let plan = Feature::Category(Category::Plan(short(index)));
        assert_eq!(features(&jumpy[2], None)[&Property::Plan(METRIC.to_owned())], plan);
    }
}
