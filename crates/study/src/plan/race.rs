//! Blocks of a race: in each block, every remaining condition runs once, in an order drawn from a separate seed, so
//! that the data, which depend on the study's seed, are the same in every run.

use super::cases::blocks;
use crate::language::spec::Study;
use std::collections::BTreeMap;
use tare_results::laps::{FIRST_LOOK, Laps};
use tare_results::question::Question;
use tare_results::schema::{Plan, PlannedTrial, Race, TrialRecord};
use tare_stats::racing;

/// Least number of conditions for a race: with two, both would run until the decision anyway.
const FEWEST: usize = 3;
/// The default smallest difference of interest of `tare find`, and the error probability of every other question.
const QUESTION: racing::Question = racing::Question { minimum_effect: 0.02, alpha: 0.02 };

/// Whether a study with this many conditions is raced: its question must be which condition is best.
pub(super) fn is_for(study: &Study, conditions: usize) -> bool {
    study.question == Some(Question::Best(None)) && conditions >= FEWEST
}

/// The plan as a race of its conditions, if a race applies; otherwise unchanged. `budget_s`: the time for its trials.
pub(super) fn of_question(study: &Study, plan: Plan, budget_s: f64) -> Plan {
    let realizable = plan.conditions.iter().filter(|condition| condition.realizable);
    let candidates: Vec<String> = realizable.map(|condition| condition.name.clone()).collect();
    if !is_for(study, candidates.len()) || blocks(&plan) < FIRST_LOOK {
        return plan;
    }
    let race = Race { budget_s: Some(budget_s), ..Race::of(candidates, QUESTION, study.sampling.seed) };
    let mut raced = begun(plan, race);
    raced.notes.push(format!(
        "a race: from block {FIRST_LOOK} on, conditions that are shown not to be the best are dropped, and the others \
         get their time; the results are reported as if none had been dropped"
    ));
    raced
}

/// Replaces the schedule by the first block of all candidates: those that share a server there do so in every block.
pub fn begun(mut plan: Plan, race: Race) -> Plan {
    let servers = servers(&plan);
    plan.trials.clear();
    let all: Vec<usize> = (0..race.candidates.len()).collect();
    plan.race = Some(race);
    with_block(plan, &all, &servers)
}

/// The plan with one more block of the remaining conditions, if all planned trials have ended and nothing is decided.
/// The same records always give the same plan.
pub fn extended(plan: &Plan, records: &[TrialRecord]) -> Option<Plan> {
    let race = plan.race.as_ref()?;
    let laps = Laps::of(plan, race, records, None);
    let look = laps.decided(race)?;
    let goes_on = laps.blocks.len() == blocks(plan) && look.stop.is_none();
    goes_on.then(|| with_block(plan.clone(), &look.standing.left(), &servers(plan)))
}

/// The server lifetime of the first block to which each condition with a shared server belongs.
fn servers(plan: &Plan) -> BTreeMap<String, usize> {
    let first = plan.trials.iter().take_while(|trial| trial.block == 0);
    first.filter_map(|trial| Some((trial.condition.clone(), trial.lifetime?))).collect()
}

fn with_block(mut plan: Plan, left: &[usize], servers: &BTreeMap<String, usize>) -> Plan {
    let Some(race) = &plan.race else { return plan };
    let block = blocks(&plan);
    let candidates = race.candidates.clone();
    // A subset of a random order is in random order too.
    let order = tare_stats::order::randomized_blocks(candidates.len(), block + 1, race.seed).pop().unwrap_or_default();
    let order: Vec<&String> = order.into_iter().filter(|place| left.contains(place)).map(|i| &candidates[i]).collect();
    let ended = plan.trials.iter().filter_map(|trial| trial.lifetime).max().map_or(0, |last| last + 1);
    // One server after the other, in the order of their first conditions.
    let mut begun: Vec<Option<usize>> = Vec::new();
    for condition in &order {
        let server = servers.get(*condition).copied();
        if server.is_none() || !begun.contains(&server) {
            begun.push(server);
        }
    }
    let mut alone = order.iter().filter(|condition| !servers.contains_key(**condition));
    for (place, server) in begun.into_iter().enumerate() {
        let own: Vec<&&String> = match server {
            Some(_) => order.iter().filter(|condition| servers.get(**condition).copied() == server).collect(),
            None => alone.next().into_iter().collect(),
        };
        let lifetime = server.map(|_| ended + place);
        for condition in own {
            let trial = plan.trials.len();
            plan.trials.push(PlannedTrial { trial, block, condition: (*condition).clone(), lifetime });
        }
    }
    plan
}
