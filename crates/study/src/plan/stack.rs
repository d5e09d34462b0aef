//! Where the stack of a trial begins, drawn at random for every trial of a comparison: so the length of a side's path
//! or arguments does not determine its position, even without address space randomisation.

use crate::language::spec::SIDE;
use tare_results::schema::Plan;
use tare_stats::order::randomized_blocks;

/// Bytes to which a stack is aligned.
const STEP: usize = 16;
/// Number of positions to draw from: a page of them.
const PLACES: usize = 256;

/// The padding of a trial's environment; none if its plan is no race and compares no sides.
pub fn padding(plan: &Plan, trial: usize) -> Option<String> {
    let sides = || plan.conditions.iter().any(|condition| condition.levels.contains_key(SIDE));
    if plan.race.is_none() && !sides() {
        return None;
    }
    let seed = plan.settle.as_ref().map_or(plan.seed, |rule| rule.seed);
    let place = *randomized_blocks(PLACES, 1, seed.wrapping_add(trial as u64)).first()?.first()?;
    Some("x".repeat(STEP * place))
}
