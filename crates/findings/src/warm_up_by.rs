//! The factor that determines how long the warm-up of queries takes.

use super::condition::ConditionSummary;
use super::factors::varying_factors;
use super::warm_up::WarmUp;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

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
pub fn by_level(found: &[WarmUp], conditions: &[ConditionSummary]) -> Option<WarmUpBy> {
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
