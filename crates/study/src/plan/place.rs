//! Where a trial stands in a schedule.

use tare_results::schema::Plan;

/// Place of trial number `trial`: its number, but in a shard's plan. A search from the begin for each trial would cost
/// a long run its square.
pub(super) fn place_of(plan: &Plan, trial: usize) -> Option<usize> {
    if plan.trials.get(trial).is_some_and(|planned| planned.trial == trial) {
        return Some(trial);
    }
    // A shard has some blocks of the whole schedule, in its order.
    let found = plan.trials.binary_search_by_key(&trial, |planned| planned.trial).ok();
    found.or_else(|| plan.trials.iter().position(|planned| planned.trial == trial))
}
