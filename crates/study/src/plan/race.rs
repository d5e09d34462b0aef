//! Blocks of a race: in each, every condition that is left runs once, in an order that is drawn from a seed of its own,
//! so that the data, which the study's seed makes, are the same in every run.

use tare_results::laps::Laps;
use tare_results::schema::{Plan, PlannedTrial, Race, TrialRecord};

/// The plan with the first block of all candidates in place of what was scheduled.
pub fn begun(mut plan: Plan, race: Race) -> Plan {
    plan.trials.clear();
    let all: Vec<usize> = (0..race.candidates.len()).collect();
    plan.race = Some(race);
    with_block(plan, &all)
}

/// The plan with one more block of what is left, when all that were planned have ended and nothing is decided. The same
/// records always lead to the same.
pub fn extended(plan: &Plan, records: &[TrialRecord]) -> Option<Plan> {
    let race = plan.race.as_ref()?;
    let laps = Laps::of(plan, race, records, None);
    let look = laps.decided(race)?;
    let goes_on = laps.blocks.len() == blocks(plan) && look.stop.is_none();
    goes_on.then(|| with_block(plan.clone(), &look.standing.left()))
}

fn blocks(plan: &Plan) -> usize {
    plan.trials.last().map_or(0, |trial| trial.block + 1)
}

fn with_block(mut plan: Plan, left: &[usize]) -> Plan {
    let Some(race) = &plan.race else { return plan };
    let block = blocks(&plan);
    let candidates = race.candidates.clone();
    // What is left of a random order of all is a random order.
    let order = tare_stats::order::randomized_blocks(candidates.len(), block + 1, race.seed).pop().unwrap_or_default();
    for candidate in order.into_iter().filter(|candidate| left.contains(candidate)) {
        let trial = plan.trials.len();
        plan.trials.push(PlannedTrial { trial, block, condition: candidates[candidate].clone(), lifetime: None });
    }
    plan
}
