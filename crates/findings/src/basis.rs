//! The data from which verdicts are tested: means with their intervals, and metrics that move alone.

use super::collect::ConditionTrials;
use super::composite::{Composite, Logarithms};
use super::confidence::{CONFIDENCE, FURTHER};
use super::verdict::{Estimate, Measured, MovedAlone, Range};
use super::{effects, hosts, modes};
use std::borrow::Cow;
use tare_results::metric;
use tare_stats::Trials;
use tare_stats::blocks::Condition;
use tare_stats::simultaneous::rank_rounded;
use tare_stats::trials::{self, Summary};

pub(super) struct Basis<'a> {
    pub conditions: &'a [ConditionTrials<'a>],
    pub composite: &'a Composite,
}

impl Basis<'_> {
    pub(crate) fn what(&self) -> Measured {
        let metrics = &self.composite.metrics;
        Measured { metric: metrics.first().cloned().unwrap_or_default(), metrics: metrics.len() }
    }

    /// The extreme means, if a single metric was measured and both describe their trials.
    pub(crate) fn range(&self) -> Option<Range> {
        match self.composite.metrics.as_slice() {
            [one] => range(one, self.conditions),
            _ => None,
        }
    }

    pub(crate) fn blocked(&self) -> bool {
        self.conditions.iter().all(|condition| condition.blocked)
    }

    pub(crate) fn fewest_trials(&self) -> usize {
        self.conditions.iter().map(|condition| condition.ok.len()).min().unwrap_or(0)
    }
}

pub(super) fn range(name: &str, conditions: &[ConditionTrials<'_>]) -> Option<Range> {
    let mean = |condition: &ConditionTrials<'_>| estimate(condition, name).map(|found| found.mean);
    let mut means: Vec<(&ConditionTrials<'_>, f64)> = conditions.iter().filter_map(|c| Some((c, mean(c)?))).collect();
    means.sort_by(|a, b| a.1.total_cmp(&b.1));
    let owned = |(condition, mean): &(&ConditionTrials<'_>, f64)| {
        modes::has_mean(condition, name).then(|| (condition.name.to_owned(), *mean))
    };
    Some(Range { low: owned(means.first()?)?, high: owned(means.last()?)?, unit: metric::describe(name).unit })
}

/// The summary of the trials, and the same with the differences between machines removed, because these are no spread
/// between trials. None if no trial has the metric.
pub(super) fn summaries(
    condition: &ConditionTrials<'_>,
    name: &str,
    values: &[Vec<f64>],
) -> Option<(Summary, Summary)> {
    let found = trials::summarize(Trials::new(values).ok()?, CONFIDENCE)?;
    let within = match hosts::without_machines(condition, name, values) {
        Cow::Borrowed(_) => found.clone(),
        Cow::Owned(values) => trials::summarize(Trials::new(&values).ok()?, CONFIDENCE)?,
    };
    Some((found, within))
}

/// Mean and interval; none if no trial has the metric.
pub(super) fn estimate(condition: &ConditionTrials<'_>, name: &str) -> Option<Estimate> {
    let (found, within) = summaries(condition, name, &condition.of_trials(name))?;
    Some(Estimate { mean: found.mean, ci: within.ci, trials: found.trials, unit: metric::describe(name).unit })
}

/// Metrics that a factor moves although their average does not, the largest change first: of 22 queries, one twice as
/// slow and one twice as fast cancel; empty if a single metric was measured.
pub(super) fn moved_by_factors(basis: &Basis<'_>) -> Vec<MovedAlone> {
    match metrics(basis) {
        metrics if metrics.len() > 1 => largest_first(effects::moved_alone(basis.conditions, &metrics)),
        _ => Vec::new(),
    }
}

/// Metrics in which two conditions differ, each with the widest pair, the largest difference first.
pub(super) fn moved_conditions(basis: &Basis<'_>) -> Vec<MovedAlone> {
    let all: Vec<usize> = (0..basis.conditions.len()).collect();
    let each: Vec<Vec<usize>> = all.iter().map(|place| vec![*place]).collect();
    let name = |i: usize| basis.conditions.get(i).map_or_else(String::new, |condition| condition.name.to_owned());
    moved_groups(basis, &all, &each, name)
}

/// Metrics in which two groups of conditions differ, each with the widest pair, the largest difference first.
/// `members` are places in `chosen`, which are the places of conditions.
pub(super) fn moved_groups(
    basis: &Basis<'_>,
    chosen: &[usize],
    members: &[Vec<usize>],
    name: impl Fn(usize) -> String,
) -> Vec<MovedAlone> {
    let metrics = metrics(basis);
    if metrics.len() < 2 {
        return Vec::new();
    }
    // All pairs of each metric together, and Bonferroni over the metrics: each metric is its own family.
    let alpha = FURTHER / metrics.len() as f64;
    let moved = |found: &Logarithms| {
        let own: Vec<Condition> = chosen.iter().map(|place| found.cells[*place].clone()).collect();
        let errors: Vec<f64> = chosen.iter().map(|place| found.errors[*place]).collect();
        let pair = rank_rounded((&own, &errors), members, alpha, basis.blocked())?.widest?;
        let (metric, ratio) = (found.metric.clone(), pair.difference.exp());
        Some(MovedAlone { metric, by: None, high: name(pair.high), low: name(pair.low), ratio })
    };
    largest_first(metrics.iter().filter_map(moved).collect())
}

fn metrics(basis: &Basis<'_>) -> Vec<Logarithms> {
    basis.composite.metrics.iter().map(|name| Logarithms::of(basis.conditions, name)).collect()
}

fn largest_first(mut moved: Vec<MovedAlone>) -> Vec<MovedAlone> {
    moved.sort_by(|a, b| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
    moved
}
