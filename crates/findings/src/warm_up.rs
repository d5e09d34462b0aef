//! The warm-up of repeated queries: how much slower the first executions were, and from which one on they were warm.

use super::collect::ConditionTrials;
use serde::Serialize;
use tare_results::metric;

/// An execution is warm if it takes at most this fraction longer than the measured ones.
pub const WARM: f64 = 0.05;

/// The executions of one query before the measured ones, under one condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WarmUp {
    pub condition: String,
    /// The metric that holds the query's seconds.
    pub metric: String,
    /// Each execution over the mean of the measured ones, mean over trials: 1.5 took 50% longer.
    pub ratios: Vec<f64>,
    /// The first execution from which on all executions before the measured ones were warm (at most 5% longer), from 0;
    /// null if the last one was not.
    pub warm_from: Option<usize>,
}

/// Warm-ups of all conditions and queries that recorded one.
pub(super) fn find(conditions: &[ConditionTrials<'_>]) -> Vec<WarmUp> {
    conditions
        .iter()
        .flat_map(|condition| {
            let mut names: Vec<&String> = condition.ok.iter().flat_map(|trial| trial.warm_up.keys()).collect();
            names.sort_by_cached_key(|name| metric::sort_key(name));
            names.dedup();
            names.into_iter().filter_map(|name| of(condition, name))
        })
        .collect()
}

fn of(condition: &ConditionTrials<'_>, name: &str) -> Option<WarmUp> {
    // A pilot may have increased their number later: only executions that all trials have are compared.
    let trials: Vec<(&Vec<f64>, f64)> =
        condition.with(name).into_iter().filter_map(|(trial, mean)| Some((trial.warm_up.get(name)?, mean))).collect();
    let runs = trials.iter().map(|(seconds, _)| seconds.len()).min().filter(|runs| *runs > 0)?;
    let ratio = |run: usize| trials.iter().map(|(s, mean)| s[run] / mean).sum::<f64>() / trials.len() as f64;
    let ratios: Vec<f64> = (0..runs).map(ratio).collect();
    if !ratios.iter().all(|ratio| ratio.is_finite()) {
        return None;
    }
    let cold = ratios.iter().rposition(|ratio| *ratio > 1.0 + WARM);
    let warm_from = cold.map_or(Some(0), |last| (last + 1 < runs).then_some(last + 1));
    Some(WarmUp { condition: condition.name.to_owned(), metric: name.to_owned(), ratios, warm_from })
}
