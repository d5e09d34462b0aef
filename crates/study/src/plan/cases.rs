//! The cases for which counts are chosen: every metric that a study is about, under every condition.

use std::collections::BTreeSet;
use tare_results::metric;
use tare_results::schema::{Outcome, Plan, TrialRecord};

pub(super) const CONFIDENCE: f64 = 0.95;

pub(super) struct Case<'a> {
    pub condition: &'a str,
    pub metric: &'a str,
    pub trials: Vec<&'a TrialRecord>,
}

pub(super) fn usable(records: &[TrialRecord], first: usize) -> Vec<&TrialRecord> {
    records.iter().filter(|r| r.trial >= first && r.outcome == Outcome::Ok && !r.samples.is_empty()).collect()
}

pub(super) fn cases<'a>(plan: &'a Plan, ok: &[&'a TrialRecord], names: &'a [String]) -> Vec<Case<'a>> {
    let each = plan.conditions.iter().flat_map(|condition| {
        names.iter().map(|metric| Case {
            condition: condition.name.as_str(),
            metric: metric.as_str(),
            trials: ok.iter().copied().filter(|r| r.condition == condition.name).collect(),
        })
    });
    each.collect()
}

/// The metrics that a study is about; if it has none of those, all.
pub(super) fn metrics(ok: &[&TrialRecord]) -> Vec<String> {
    let all: BTreeSet<&String> = ok.iter().flat_map(|r| &r.samples).flat_map(|s| s.metrics.keys()).collect();
    let primary: Vec<String> = all.iter().filter(|n| metric::describe(n).is_primary()).map(|n| (*n).clone()).collect();
    if primary.is_empty() { all.into_iter().cloned().collect() } else { primary }
}

pub(super) fn blocks(plan: &Plan) -> usize {
    plan.trials.iter().map(|t| t.block + 1).max().unwrap_or(0)
}
