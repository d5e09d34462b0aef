//! What all answers are made from, and the words that they share.

use super::collect::ConditionTrials;
use super::composite::Composite;
use super::figures::{figure, list};
use super::summary::{ConditionSummary, MetricSummary, Summary};
use super::{reading, steadiness};

/// What all answers are made from.
pub(super) struct Basis<'a> {
    pub summary: &'a Summary,
    pub conditions: &'a [ConditionTrials<'a>],
    pub composite: &'a Composite,
}

impl Basis<'_> {
    /// "throughput", or "the 22 queries".
    pub fn what(&self) -> String {
        match self.composite.metrics.as_slice() {
            [one] => reading::phrase(one),
            many => format!("the {} on average", steadiness::many(many.len(), &many[0])),
        }
    }
}

/// "from 13 k/s at a to 65 k/s at b".
pub(super) fn extremes(summary: &Summary, name: &str, conditions: &[ConditionTrials<'_>]) -> String {
    let mut measured: Vec<(&ConditionSummary, &MetricSummary)> = summary
        .conditions
        .iter()
        .filter(|c| conditions.iter().any(|of| of.name == c.name))
        .filter_map(|c| Some((c, c.metrics.iter().find(|metric| metric.name == name)?)))
        .collect();
    measured.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
    let (Some(low), Some(high)) = (measured.first(), measured.last()) else { return String::new() };
    let at = |(condition, metric): &(&ConditionSummary, &MetricSummary)| {
        format!("{} at {}", figure(metric.mean, &metric.unit), condition.name)
    };
    format!("from {} to {}", at(low), at(high))
}

/// Trials a condition, at least.
pub(super) fn fewest(conditions: &[ConditionTrials<'_>]) -> usize {
    conditions.iter().map(|condition| condition.ok.len()).min().unwrap_or(0)
}

/// The names of some conditions, the first few and how many more.
pub(super) fn named(conditions: &[ConditionTrials<'_>], which: &[usize]) -> String {
    const SHOWN: usize = 4;
    let mut names: Vec<String> = which.iter().filter_map(|i| Some(conditions.get(*i)?.name.to_owned())).collect();
    let more = names.len().saturating_sub(SHOWN);
    if more > 1 {
        names.truncate(SHOWN);
        names.push(format!("{more} more"));
    }
    list(&names)
}
