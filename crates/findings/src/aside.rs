//! Conditions alongside the main ones: those with a number of client threads of their own, where the others name none.
//! Their throughput is of another load, so no comparison with the others says anything.

use super::collect::ConditionTrials;
use tare_results::schema::Levels;

const THREADS: &str = "threads";

/// The number of client threads that is a condition's own where others name none.
pub(super) fn threads<'a>(levels: &'a Levels, mut all: impl Iterator<Item = &'a Levels>) -> Option<&'a str> {
    let own = levels.get(THREADS)?;
    all.any(|levels| !levels.contains_key(THREADS)).then_some(own.as_str())
}

/// The main conditions, and those alongside them.
pub(super) fn split<'a>(conditions: Vec<ConditionTrials<'a>>) -> (Vec<ConditionTrials<'a>>, Vec<ConditionTrials<'a>>) {
    let (main, aside): (Vec<_>, Vec<_>) =
        conditions.into_iter().partition(|condition| !condition.levels.contains_key(THREADS));
    if main.is_empty() { (aside, main) } else { (main, aside) }
}
