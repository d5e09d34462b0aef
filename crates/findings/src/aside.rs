//! Conditions alongside the main ones: those that set their own number of client threads while others set none. Their
//! throughput belongs to another load, so it is not comparable with the others.

use super::collect::ConditionTrials;
use tare_results::schema::Levels;

const THREADS: &str = "threads";

/// The number of client threads that this condition sets while others set none.
pub(super) fn threads<'a>(levels: &'a Levels, mut all: impl Iterator<Item = &'a Levels>) -> Option<&'a str> {
    let own = levels.get(THREADS)?;
    all.any(|levels| !levels.contains_key(THREADS)).then_some(own.as_str())
}

/// Splits conditions into the main ones and those alongside them.
pub(super) fn split<'a>(conditions: Vec<ConditionTrials<'a>>) -> (Vec<ConditionTrials<'a>>, Vec<ConditionTrials<'a>>) {
    let (main, aside): (Vec<_>, Vec<_>) =
        conditions.into_iter().partition(|condition| !condition.levels.contains_key(THREADS));
    if main.is_empty() { (aside, main) } else { (main, aside) }
}
