//! Trial records grouped by condition: which are analysed, which only counted.

use std::collections::BTreeSet;
use tare_results::metric;
use tare_results::schema::{Levels, Outcome, TrialRecord};
use tare_results::{Results, Source};

/// The trials of one condition.
#[derive(Debug, Clone)]
pub struct ConditionTrials<'a> {
    /// Its name.
    pub name: &'a str,
    /// Factor -> level.
    pub levels: &'a Levels,
    /// Analysed: ended ok.
    pub ok: Vec<&'a TrialRecord>,
    /// Gave no usable result; counted and listed.
    pub failed: Vec<&'a TrialRecord>,
    /// Interfered with; counted and listed.
    pub contaminated: Vec<&'a TrialRecord>,
}

/// Groups records by condition, in the order of the plan, then of first appearance. Unrealizable conditions
/// and those of which nothing has run yet are left out.
pub fn conditions(results: &Results) -> Vec<ConditionTrials<'_>> {
    let mut conditions: Vec<ConditionTrials<'_>> = Vec::new();
    let decision = results.plan.as_ref().and_then(|plan| plan.decision.as_ref());
    // A pilot that was still warming up is kept in the record and says nothing about what followed.
    let first = decision.filter(|decision| !decision.pilot_counts).map_or(0, |decision| decision.first_trial);
    for trial in results.trials.iter().filter(|trial| trial.trial >= first) {
        let index = match conditions.iter().position(|condition| condition.name == trial.condition) {
            Some(index) => index,
            None => {
                conditions.push(ConditionTrials {
                    name: &trial.condition,
                    levels: &trial.levels,
                    ok: Vec::new(),
                    failed: Vec::new(),
                    contaminated: Vec::new(),
                });
                conditions.len() - 1
            }
        };
        let condition = &mut conditions[index];
        match trial.outcome {
            Outcome::Ok => condition.ok.push(trial),
            Outcome::Failed => condition.failed.push(trial),
            Outcome::Contaminated => condition.contaminated.push(trial),
        }
    }
    if let Some(plan) = &results.plan {
        let place = |name: &str| plan.conditions.iter().position(|planned| planned.name == name);
        conditions.sort_by_key(|condition| place(condition.name).unwrap_or(usize::MAX));
    }
    conditions
}

impl<'a> ConditionTrials<'a> {
    /// The samples of each analysed trial that have this metric; trials without it are left out.
    pub fn values(&self, metric: &str) -> Vec<Vec<f64>> {
        self.ok.iter().map(|trial| sample_values(trial, metric)).filter(|samples| !samples.is_empty()).collect()
    }

    /// The analysed trials that have this metric, each with its mean over samples.
    pub fn with(&self, metric: &str) -> Vec<(&'a TrialRecord, f64)> {
        self.ok.iter().filter_map(|trial| Some((*trial, trial_mean(trial, metric)?))).collect()
    }

    /// Every metric that an analysed trial has, in table order.
    pub fn metrics(&self) -> Vec<String> {
        ordered(self.ok.iter().flat_map(|trial| &trial.samples).flat_map(|sample| sample.metrics.keys()))
    }
}

/// The finite values of one metric in one trial.
pub fn sample_values(trial: &TrialRecord, metric: &str) -> Vec<f64> {
    trial
        .samples
        .iter()
        .filter_map(|sample| sample.metrics.get(metric))
        .copied()
        .filter(|value| value.is_finite())
        .collect()
}

/// The mean of one metric over the samples of one trial.
pub fn trial_mean(trial: &TrialRecord, metric: &str) -> Option<f64> {
    let values = sample_values(trial, metric);
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Every metric of any condition, in table order.
pub fn all_metrics(conditions: &[ConditionTrials<'_>]) -> Vec<String> {
    ordered(conditions.iter().flat_map(|condition| condition.metrics()).collect::<Vec<_>>().iter())
}

fn ordered<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut names: Vec<String> = names.collect::<BTreeSet<_>>().into_iter().cloned().collect();
    names.sort_by_key(|name| metric::sort_key(name));
    names
}

/// Trials of the plan of which no record says ok: not run yet, or failed for good.
pub fn missing_trials(results: &Results) -> usize {
    if results.source == Source::Csv {
        return 0;
    }
    let Some(plan) = &results.plan else { return 0 };
    let done: BTreeSet<usize> =
        results.trials.iter().filter(|trial| trial.outcome == Outcome::Ok).map(|trial| trial.trial).collect();
    plan.trials.iter().filter(|planned| !done.contains(&planned.trial)).count()
}
