//! Ladders: conditions that differ only in the number of threads, nodes or caches.

use super::collect::ConditionTrials;
use super::factors::number;
use std::collections::BTreeMap;
use tare_results::schema::Levels;

pub(super) const OVER: [&str; 3] = ["threads", "nodes", "caches"];

/// Conditions that differ in one number only.
pub(super) struct Ladder<'c, 'r> {
    /// The factor: `threads`, `nodes` or `caches`.
    pub over: &'static str,
    pub levels: Levels,
    /// The number and its condition, in the order of the plan.
    pub rungs: Vec<(f64, &'c ConditionTrials<'r>)>,
}

/// All ladders: over threads, then over nodes and caches.
pub(super) fn ladders<'c, 'r>(conditions: &'c [ConditionTrials<'r>]) -> Vec<Ladder<'c, 'r>> {
    OVER.into_iter().flat_map(|over| ladders_over(over, conditions)).collect()
}

fn ladders_over<'c, 'r>(over: &'static str, conditions: &'c [ConditionTrials<'r>]) -> Vec<Ladder<'c, 'r>> {
    let mut ladders: BTreeMap<Levels, Vec<(f64, &ConditionTrials<'r>)>> = BTreeMap::new();
    for condition in conditions {
        let Some(n) = condition.levels.get(over).and_then(|level| number(level)) else { continue };
        let mut others = condition.levels.clone();
        others.remove(over);
        ladders.entry(others).or_default().push((n, condition));
    }
    ladders.into_iter().map(|(levels, rungs)| Ladder { over, levels, rungs }).collect()
}
