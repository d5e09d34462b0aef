//! Blocks up to the next interim look at a study that was cut to a time: the study ends at the first look at which
//! its question is settled.

use super::pilot::blocks;
use super::resolve;
use crate::language::spec::Study;
use tare_results::looks::looks;
use tare_results::question::Question;
use tare_results::schema::{Plan, TrialRecord};

/// The plan up to its first look, if its question can be settled before the end; otherwise unchanged. A plan whose
/// rungs are chosen during the run, and a race, have looks of their own.
pub(super) fn begun(study: &Study, mut plan: Plan) -> Plan {
    let asks = matches!(study.question, Some(Question::Effect | Question::Spread | Question::Scaling));
    let all = blocks(&plan);
    let looked = looks(all);
    let grows = plan.race.is_some() || study.sampling.target_half_width.is_some();
    let (Some(within), true) = (&mut plan.within, asks && looked.len() > 1 && !grows) else { return plan };
    within.blocks = Some(all);
    let first = looked[0];
    plan.notes.push(note(looked));
    until(study, plan, first)
}

/// The plan's note about its looks, by the blocks after which they take place.
pub(super) fn note(looked: impl IntoIterator<Item = usize>) -> String {
    let words: Vec<String> = looked.into_iter().map(|blocks| blocks.to_string()).collect();
    format!("ends as soon as its question is decided: checked after block {}", words.join(", "))
}

/// The plan up to the next look, if all planned trials have ended and this look settles nothing. The same records
/// always give the same plan.
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
