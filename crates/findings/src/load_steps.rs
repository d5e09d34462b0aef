//! The steps that a load runs one after the other in each trial, as the answer names them.

use super::collect::{self, ConditionTrials};
use super::composite::MetricLogs;
use serde::Serialize;
use std::collections::BTreeSet;
use tare_results::metric;
use tare_results::steps::{Figure, step};
use tare_results::unit::Unit;
use tare_stats::descriptive;

/// What a step is measured by: queries per second, else rows per second of the fastest role, else its duration.
const MEASURED_BY: [Figure; 3] = [Figure::QueriesPerS, Figure::RowsPerS, Figure::ElapsedS];

const RATES: [Figure; 2] = [Figure::QueriesPerS, Figure::RowsPerS];

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepMean {
    pub step: String,
    pub mean: f64,
    pub unit: Unit,
}

/// Number of steps of which these are rates; none if one of them is not.
pub(super) fn count(metrics: &[String]) -> Option<usize> {
    let steps: Option<BTreeSet<&str>> = metrics.iter().map(|name| Some(step(name)?.1)).collect();
    steps.map(|steps| steps.len()).filter(|steps| *steps > 0)
}

/// What the steps are tested by, one by one: the rates of every role, and the durations of steps without rates. These
/// metrics themselves for a load without steps.
pub(super) fn tested(conditions: &[ConditionTrials<'_>], metrics: &[String]) -> Vec<String> {
    if count(metrics).is_none() {
        return metrics.to_vec();
    }
    let all = collect::all_metrics(conditions);
    let of = |name: &String, by: &[Figure]| {
        step(name).filter(|(figure, _)| by.contains(figure)).map(|(_, of)| of.to_owned())
    };
    let with_rates: BTreeSet<String> = all.iter().filter_map(|name| of(name, &RATES)).collect();
    let has_none = |name: &String| of(name, &[Figure::ElapsedS]).is_some_and(|step| !with_rates.contains(&step));
    let is_tested = |name: &&String| of(name, &RATES).is_some() || has_none(name);
    all.iter().filter(is_tested).filter(|name| MetricLogs::of(conditions, name).is_some()).cloned().collect()
}

/// The rate of the step that began first.
pub(super) fn first_rate(conditions: &[ConditionTrials<'_>], metrics: &[String]) -> Option<String> {
    let begins = means(conditions.first()?);
    let of_step = |begun: &StepMean| {
        let is_rate =
            |name: &&String| step(name).is_some_and(|(figure, of)| RATES.contains(&figure) && of == begun.step);
        metrics.iter().find(is_rate).cloned()
    };
    begins.iter().find_map(of_step)
}

/// Every step of a condition, in the order in which they began.
pub(super) fn means(condition: &ConditionTrials<'_>) -> Vec<StepMean> {
    let names = condition.metrics();
    let mean = |name: &str| descriptive::mean(&condition.means(name));
    let begin = |name: &'_ String| match step(name)? {
        (Figure::BeginS, of) => Some((mean(name)?, of.to_owned())),
        _ => None,
    };
    let mut begins: Vec<(f64, String)> = names.iter().filter_map(begin).collect();
    begins.sort_by(|a, b| a.0.total_cmp(&b.0));
    let measured = |of: &str, by: Figure| {
        let roles = names.iter().filter(|name| step(name) == Some((by, of)));
        let means = roles.filter_map(|name| Some((mean(name)?, metric::describe(name).unit)));
        means.max_by(|a, b| a.0.total_cmp(&b.0))
    };
    let found = |(_, step): (f64, String)| {
        let (mean, unit) = MEASURED_BY.into_iter().find_map(|by| measured(&step, by))?;
        Some(StepMean { step, mean, unit })
    };
    begins.into_iter().filter_map(found).collect()
}
