//! The steps that a load runs one after the other in each trial, as the answer names them.

use super::collect::ConditionTrials;
use serde::Serialize;
use std::collections::BTreeSet;
use tare_results::metric;
use tare_results::steps::{Figure, step};
use tare_stats::descriptive;

/// What a step is measured by: queries per second, else rows per second of the fastest role, else its duration.
const MEASURED_BY: [Figure; 3] = [Figure::QueriesPerS, Figure::RowsPerS, Figure::ElapsedS];

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepMean {
    pub step: String,
    pub mean: f64,
    pub unit: &'static str,
}

/// Number of steps of which these are rates; none if one of them is not.
pub(super) fn count(metrics: &[String]) -> Option<usize> {
    let steps: Option<BTreeSet<&str>> = metrics.iter().map(|name| Some(step(name)?.1)).collect();
    steps.map(|steps| steps.len()).filter(|steps| *steps > 0)
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
