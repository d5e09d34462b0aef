//! The warm-up of repeated queries: how much slower the first executions were, and from which one on they were warm.

use super::collect::ConditionTrials;
use super::confidence::CONFIDENCE;
use serde::Serialize;
use tare_results::metric;
use tare_stats::ratio::paired;

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
    /// Whether each is shown to take another time than the measured ones: paired over trials, with 5% of false claims
    /// in all executions of the condition together.
    pub shown: Vec<bool>,
    /// The first execution from which on all executions before the measured ones were warm (at most 5% longer), from 0;
    /// null if the last one was not.
    pub warm_from: Option<usize>,
}

/// Warm-ups of all conditions and queries that recorded one.
pub(super) fn find(conditions: &[ConditionTrials<'_>]) -> Vec<WarmUp> {
    conditions.iter().flat_map(of_condition).collect()
}

fn of_condition(condition: &ConditionTrials<'_>) -> Vec<WarmUp> {
    let mut names: Vec<&String> = condition.ok.iter().flat_map(|trial| trial.warm_up.keys()).collect();
    names.sort_by_cached_key(|name| metric::sort_key(name));
    names.dedup();
    let recorded: Vec<Recorded<'_>> = names.into_iter().filter_map(|name| recorded(condition, name)).collect();
    let tests: usize = recorded.iter().map(|query| query.runs).sum();
    let confidence = 1.0 - (1.0 - CONFIDENCE) / tests.max(1) as f64;
    recorded.iter().filter_map(|query| of(condition.name, query, confidence)).collect()
}

/// The executions of a query before the measured ones, and the mean of those, trial by trial.
struct Recorded<'r> {
    name: &'r str,
    seconds: Vec<&'r Vec<f64>>,
    measured: Vec<f64>,
    /// Number of executions that all trials have: a pilot may have increased it later.
    runs: usize,
}

fn recorded<'r>(condition: &ConditionTrials<'r>, name: &'r str) -> Option<Recorded<'r>> {
    let (seconds, measured): (Vec<&Vec<f64>>, Vec<f64>) =
        condition.with(name).into_iter().filter_map(|(trial, mean)| Some((trial.warm_up.get(name)?, mean))).unzip();
    let runs = seconds.iter().map(|seconds| seconds.len()).min().filter(|runs| *runs > 0)?;
    Some(Recorded { name, seconds, measured, runs })
}

fn of(condition: &str, query: &Recorded<'_>, confidence: f64) -> Option<WarmUp> {
    let Recorded { name, seconds, measured, runs } = query;
    let trials = measured.len() as f64;
    let ratio = |run: usize| seconds.iter().zip(measured).map(|(s, mean)| s[run] / mean).sum::<f64>() / trials;
    let ratios: Vec<f64> = (0..*runs).map(ratio).collect();
    if !ratios.iter().all(|ratio| ratio.is_finite()) {
        return None;
    }
    let differs = |run: usize| {
        let own: Vec<f64> = seconds.iter().map(|seconds| seconds[run]).collect();
        let ci = paired(measured, &own, confidence).ok().and_then(|ratio| ratio.ci);
        ci.is_some_and(|ci| !ci.contains(1.0))
    };
    let shown = (0..*runs).map(differs).collect();
    let cold = ratios.iter().rposition(|ratio| *ratio > 1.0 + WARM);
    let warm_from = cold.map_or(Some(0), |last| (last + 1 < *runs).then_some(last + 1));
    Some(WarmUp { condition: condition.to_owned(), metric: (*name).to_owned(), ratios, shown, warm_from })
}
