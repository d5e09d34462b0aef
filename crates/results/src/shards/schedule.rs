//! Whether plans are of one schedule.

use crate::schema::{Plan, PlannedTrial};
use std::collections::BTreeMap;

/// Whether a part's plan is of the schedule of `all`: drawn alike, of the same conditions, and every trial that both
/// have is the same. Where `all` is the whole schedule, the part has no other trial either.
pub(super) fn agree(all: &Plan, part: &Plan, is_whole: bool) -> bool {
    let names = |plan: &Plan| plan.conditions.iter().map(|c| (c.name.clone(), c.levels.clone())).collect::<Vec<_>>();
    let known: BTreeMap<usize, &PlannedTrial> = all.trials.iter().map(|trial| (trial.trial, trial)).collect();
    let fits = |trial: &PlannedTrial| match known.get(&trial.trial) {
        Some(planned) => *planned == trial,
        None => !is_whole,
    };
    all.study == part.study && all.seed == part.seed && names(all) == names(part) && part.trials.iter().all(fits)
}
