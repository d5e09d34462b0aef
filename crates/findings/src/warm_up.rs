//! The warm-up of repeated queries: how much slower the first executions were, from which one on they were warm, and
//! the factor that determines how long that takes.

use super::collect::ConditionTrials;
use super::condition::ConditionSummary;
use super::confidence::CONFIDENCE;
use super::factors::varying_factors;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use tare_results::metric;
use tare_stats::descriptive::mean;
use tare_stats::small_samples::UsualVariance;

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
    /// Whether each is shown to take another time than the measured ones, with 5% of false claims in all executions of
    /// all conditions together.
    pub shown: Vec<bool>,
    /// The first execution from which on all executions before the measured ones were warm, from 0; null if the last
    /// was not. One that took over 5% longer was not, if that is shown; of a single trial without a test.
    pub warm_from: Option<usize>,
}

/// Warm-ups of all conditions and queries that recorded one.
pub(super) fn find(conditions: &[ConditionTrials<'_>]) -> Vec<WarmUp> {
    let all: Vec<(&str, Vec<Recorded<'_>>)> = conditions.iter().map(|own| (own.name, of_condition(own))).collect();
    let tests: usize = all.iter().flat_map(|(_, queries)| queries).map(|query| query.ratios.len()).sum();
    let found = all.iter().flat_map(|(condition, queries)| {
        // The last executions are the warmest, and vary like the measured ones.
        let last: Vec<Vec<f64>> =
            queries.iter().filter_map(|query| logarithms(query.ratios.last()?)).filter(|logs| logs.len() > 1).collect();
        let usual = UsualVariance::of(&last);
        queries.iter().map(move |query| query.found(condition, usual, tests))
    });
    found.collect()
}

fn of_condition<'t>(condition: &ConditionTrials<'t>) -> Vec<Recorded<'t>> {
    let mut names: Vec<&String> = condition.ok.iter().flat_map(|trial| trial.warm_up.keys()).collect();
    names.sort_by_cached_key(|name| metric::sort_key(name));
    names.dedup();
    names.into_iter().filter_map(|name| recorded(condition, name)).collect()
}

/// The executions of a query before the measured ones over the mean of those: of each execution that all trials have (a
/// pilot may have increased their number later), trial by trial.
struct Recorded<'r> {
    name: &'r str,
    ratios: Vec<Vec<f64>>,
}

fn recorded<'r>(condition: &ConditionTrials<'r>, name: &'r str) -> Option<Recorded<'r>> {
    let trials: Vec<(&Vec<f64>, f64)> =
        condition.with(name).into_iter().filter_map(|(trial, mean)| Some((trial.warm_up.get(name)?, mean))).collect();
    let runs = trials.iter().map(|(seconds, _)| seconds.len()).min().filter(|runs| *runs > 0)?;
    let of = |run: usize| trials.iter().map(|(seconds, mean)| seconds[run] / mean).collect::<Vec<f64>>();
    let ratios: Vec<Vec<f64>> = (0..runs).map(of).collect();
    ratios.iter().flatten().all(|ratio| ratio.is_finite()).then_some(Recorded { name, ratios })
}

fn logarithms(ratios: &[f64]) -> Option<Vec<f64>> {
    ratios.iter().all(|ratio| *ratio > 0.0).then(|| ratios.iter().map(|ratio| ratio.ln()).collect())
}

impl Recorded<'_> {
    fn found(&self, condition: &str, usual: Option<UsualVariance>, tests: usize) -> WarmUp {
        let ratios: Vec<f64> = self.ratios.iter().map(|own| mean(own).unwrap_or(f64::NAN)).collect();
        let shown: Vec<bool> = self.ratios.iter().map(|own| differs(own, usual, tests)).collect();
        let is_cold = |run: usize| ratios[run] > 1.0 + WARM && (shown[run] || self.ratios[run].len() < 2);
        let cold = (0..ratios.len()).rev().find(|run| is_cold(*run));
        let warm_from = cold.map_or(Some(0), |last| (last + 1 < ratios.len()).then_some(last + 1));
        WarmUp { condition: condition.to_owned(), metric: self.name.to_owned(), ratios, shown, warm_from }
    }
}

/// Whether an execution is shown to take another time than the measured ones, one of `tests` that are made together: by
/// the variance of all queries, and at 5% by its own, for a query that varies more than the others.
fn differs(ratios: &[f64], usual: Option<UsualVariance>, tests: usize) -> bool {
    let level = 1.0 - CONFIDENCE;
    let found = logarithms(ratios).and_then(|logs| usual?.p_values(&logs));
    found.is_some_and(|found| found.own <= level && found.usual <= level / tests as f64)
}

/// A factor that determines the number of executions until all queries are warm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarmUpBy {
    pub factor: String,
    /// Its two levels, each with the minimum and maximum number of executions over its conditions, the longer warm-up
    /// first.
    pub levels: [(String, RangeInclusive<usize>); 2],
}

/// Minimum difference in executions between levels that is reported: one more is the first execution, which reads the
/// data, or chance.
const FEWEST: usize = 2;

/// The two-level factor with the largest gap: every condition of one level takes longer than every condition of the
/// other. None if there is no such factor, or if a query was never warm.
pub fn warm_up_by_level(found: &[WarmUp], conditions: &[ConditionSummary]) -> Option<WarmUpBy> {
    let mut latest: BTreeMap<&str, usize> = BTreeMap::new();
    for warm in found {
        let own = latest.entry(&warm.condition).or_default();
        *own = (*own).max(warm.warm_from?);
    }
    let known: Vec<(&ConditionSummary, usize)> =
        conditions.iter().filter_map(|own| Some((own, *latest.get(own.name.as_str())?))).collect();
    let of_level = |factor: &str, level: &str| {
        let own = known.iter().filter(|(condition, _)| condition.levels.get(factor).is_some_and(|own| own == level));
        let runs: BTreeSet<usize> = own.map(|(_, runs)| *runs).collect();
        Some((level.to_owned(), *runs.first()?..=*runs.last()?))
    };
    let by = |factor: String| {
        let levels: BTreeSet<&String> = known.iter().filter_map(|(own, _)| own.levels.get(&factor)).collect();
        let [one, other] = *levels.into_iter().collect::<Vec<_>>().as_slice() else { return None };
        let mut levels = [of_level(&factor, one)?, of_level(&factor, other)?];
        levels.sort_by_key(|(_, runs)| std::cmp::Reverse(*runs.start()));
        Some(WarmUpBy { factor, levels })
    };
    let gap = |by: &WarmUpBy| by.levels[0].1.start().checked_sub(*by.levels[1].1.end()).filter(|gap| *gap >= FEWEST);
    let factors = varying_factors(known.iter().map(|(condition, _)| &condition.levels)).into_iter();
    factors.filter_map(by).filter(|by| gap(by).is_some()).max_by_key(gap)
}
