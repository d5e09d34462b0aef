//! Blocks up to the next look at a study that was cut to a time: it ends at the first one that shows its question
//! settled.

use super::cases::blocks;
use super::resolve;
use crate::language::spec::Study;
use tare_results::looks::looks;
use tare_results::question::Question;
use tare_results::schema::{Plan, TrialRecord};

/// The plan up to its first look, where its question can be settled on the way; else as it is. Of ladders the rungs are
/// chosen on the way, and a race has looks of its own.
pub(super) fn begun(study: &Study, mut plan: Plan) -> Plan {
    let asks = matches!(study.question, Some(Question::Effect | Question::Spread));
    let all = blocks(&plan);
    let looked = looks(all);
    let grows = plan.race.is_some() || study.sampling.target_half_width.is_some();
    let (Some(within), true) = (&mut plan.within, asks && looked.len() > 1 && !grows) else { return plan };
    within.blocks = Some(all);
    let first = looked[0];
    plan.notes.push(note(looked));
    until(study, plan, first)
}

/// What the plan says of its looks, by the blocks after which they come.
pub(super) fn note(looked: impl IntoIterator<Item = usize>) -> String {
    let words: Vec<String> = looked.into_iter().map(|blocks| blocks.to_string()).collect();
    format!("it ends when its question is settled: looked at after block {}", words.join(", "))
}

/// The plan up to the next look, when all that were planned have ended and this one settles nothing. The same records
/// always lead to the same.
pub fn extended(
    study: &Study,
    plan: &Plan,
    records: &[TrialRecord],
    is_settled: impl FnOnce(&Plan, &[TrialRecord]) -> bool,
) -> Option<Plan> {
    let all = plan.within.as_ref().filter(|within| within.rungs.is_none())?.blocks?;
    let have = blocks(plan);
    let next = looks(all).into_iter().find(|look| *look > have)?;
    (!is_settled(plan, records)).then(|| until(study, plan.clone(), next))
}

fn until(study: &Study, mut plan: Plan, look: usize) -> Plan {
    plan.trials = resolve::scheduled(study, &plan.conditions);
    plan.trials.retain(|trial| trial.block < look);
    plan
}
