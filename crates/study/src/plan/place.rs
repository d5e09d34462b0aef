//! The position of a trial in a schedule.

use tare_results::schema::Plan;

/// Position of trial number `trial`: equal to its number, except in a shard's plan. A linear search for each trial
/// would make the time of a long run quadratic.
pub(super) fn place_of(plan: &Plan, trial: usize) -> Option<usize> {
    if plan.trials.get(trial).is_some_and(|planned| planned.trial == trial) {
        return Some(trial);
    }
    // A shard has some blocks of the whole schedule, in its order.
    let found = plan.trials.binary_search_by_key(&trial, |planned| planned.trial).ok();
    found.or_else(|| plan.trials.iter().position(|planned| planned.trial == trial))
}
