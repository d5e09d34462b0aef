//! Metrics that move although their average does not: of 22 queries, one twice as slow and one twice as fast cancel.

use super::basis::Basis;
use super::confidence::FURTHER;
use super::effects;
use super::verdict::MovedAlone;
use tare_stats::blocks::Condition;
use tare_stats::simultaneous;

/// Metrics that a factor moves, the largest change first; empty if a single metric was measured.
pub(super) fn factors(basis: &Basis<'_>) -> Vec<MovedAlone> {
    match metrics(basis) {
        metrics if metrics.len() > 1 => largest_first(effects::moved_alone(basis.conditions, &metrics)),
        _ => Vec::new(),
    }
}

/// Metrics in which two conditions differ, each with the widest pair, the largest difference first.
pub(super) fn conditions(basis: &Basis<'_>) -> Vec<MovedAlone> {
    let metrics = metrics(basis);
    if metrics.len() < 2 {
        return Vec::new();
    }
    // All pairs of each metric together, and Bonferroni over the metrics: each metric is its own family.
    let alpha = FURTHER / metrics.len() as f64;
    let name = |i: usize| basis.conditions.get(i).map_or_else(String::new, |condition| condition.name.to_owned());
    let moved = |(metric, cells): &(String, Vec<Condition>)| {
        let pair = simultaneous::rank(cells, alpha, basis.blocked())?.widest?;
        let ratio = pair.difference.exp();
        Some(MovedAlone { metric: metric.clone(), by: None, high: name(pair.high), low: name(pair.low), ratio })
    };
    largest_first(metrics.iter().filter_map(moved).collect())
}

fn metrics(basis: &Basis<'_>) -> Vec<(String, Vec<Condition>)> {
    let cell = |condition: &super::collect::ConditionTrials<'_>, name: &str| {
        condition.numbered(name).into_iter().map(|(block, value)| (block, value.ln())).collect()
    };
    let of = |name: &String| (name.clone(), basis.conditions.iter().map(|c| cell(c, name)).collect());
    basis.composite.metrics.iter().map(of).collect()
}

fn largest_first(mut moved: Vec<MovedAlone>) -> Vec<MovedAlone> {
    moved.sort_by(|a, b| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
    moved
}
