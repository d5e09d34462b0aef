//! The data from which verdicts are tested.

use super::collect::ConditionTrials;
use super::composite::Composite;
use super::estimate;
use super::modes;
use super::verdict::{Measured, Range};
use tare_results::metric;

pub(super) struct Basis<'a> {
    pub conditions: &'a [ConditionTrials<'a>],
    pub composite: &'a Composite,
}

impl Basis<'_> {
    pub fn what(&self) -> Measured {
        let metrics = &self.composite.metrics;
        Measured { metric: metrics.first().cloned().unwrap_or_default(), metrics: metrics.len() }
    }

    /// The extreme means, if a single metric was measured and both describe their trials.
    pub fn range(&self) -> Option<Range> {
        match self.composite.metrics.as_slice() {
            [one] => range(one, self.conditions),
            _ => None,
        }
    }

    pub fn blocked(&self) -> bool {
        self.conditions.iter().all(|condition| condition.blocked)
    }

    pub fn fewest_trials(&self) -> usize {
        self.conditions.iter().map(|condition| condition.ok.len()).min().unwrap_or(0)
    }
}

pub(super) fn range(name: &str, conditions: &[ConditionTrials<'_>]) -> Option<Range> {
    let mean = |condition: &ConditionTrials<'_>| estimate::of(condition, name).map(|found| found.mean);
    let mut means: Vec<(&ConditionTrials<'_>, f64)> = conditions.iter().filter_map(|c| Some((c, mean(c)?))).collect();
    means.sort_by(|a, b| a.1.total_cmp(&b.1));
    let owned = |(condition, mean): &(&ConditionTrials<'_>, f64)| {
        modes::has_mean(condition, name).then(|| (condition.name.to_owned(), *mean))
    };
    Some(Range { low: owned(means.first()?)?, high: owned(means.last()?)?, unit: metric::describe(name).unit })
}
