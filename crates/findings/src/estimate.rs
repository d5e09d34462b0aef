//! The mean of one metric of one condition, with its interval.

use super::collect::ConditionTrials;
use super::confidence::CONFIDENCE;
use super::hosts;
use super::verdict::Estimate;
use std::borrow::Cow;
use tare_results::metric;
use tare_stats::Trials;
use tare_stats::trials::{self, Summary};

/// The summary of the trials, and the same with the differences between machines removed, because these are no spread
/// between trials. None if no trial has the metric.
pub(super) fn both(condition: &ConditionTrials<'_>, name: &str, values: &[Vec<f64>]) -> Option<(Summary, Summary)> {
    let found = trials::summarize(Trials::new(values).ok()?, CONFIDENCE)?;
    let within = match hosts::without_machines(condition, name, values) {
        Cow::Borrowed(_) => found.clone(),
        Cow::Owned(values) => trials::summarize(Trials::new(&values).ok()?, CONFIDENCE)?,
    };
    Some((found, within))
}

/// Mean and interval; none if no trial has the metric.
pub(super) fn of(condition: &ConditionTrials<'_>, name: &str) -> Option<Estimate> {
    let (found, within) = both(condition, name, &condition.of_trials(name))?;
    Some(Estimate { mean: found.mean, ci: within.ci, trials: found.trials, unit: metric::describe(name).unit })
}
