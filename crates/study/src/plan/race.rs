//! Blocks of a race: in each block, every remaining condition runs once, in an order drawn from a separate seed, so
//! that the data, which depend on the study's seed, are the same in every run.

use super::pilot::blocks;
use crate::language::spec::Study;
use std::collections::{BTreeMap, BTreeSet};
use tare_results::factor::LOADS;
use tare_results::laps::{FIRST_LOOK, Laps};
use tare_results::question::Question;
use tare_results::schema::{Plan, Race, TrialRecord};
use tare_stats::racing;

/// Least number of conditions for a race: with two, both would run until the decision anyway.
const FEWEST: usize = 3;
/// The default smallest difference of interest of `tare find`, and the error probability of every other question.
const QUESTION: racing::Question = racing::Question { minimum_effect: 0.02, alpha: 0.02 };

/// Whether a plan is raced: the question must be which of its conditions is best, under one load. A condition that sets
/// its number of threads, where others set none, has another load, as in the answer.
pub(super) fn is_for(study: &Study, plan: &Plan) -> bool {
    let levels = || plan.realizable().map(|condition| &condition.levels);
    let differs = |factor: &str| levels().map(|levels| levels.get(factor)).collect::<BTreeSet<_>>().len() > 1;
    let threads: BTreeSet<bool> = levels().map(|levels| levels.contains_key("threads")).collect();
    let one_load = !LOADS.into_iter().any(differs) && threads.len() == 1;
    study.question == Some(Question::Best(None)) && levels().count() >= FEWEST && one_load
}

/// The plan as a race of its conditions, if a race applies; otherwise unchanged. `budget_s`: the time for its trials.
pub(super) fn of_question(study: &Study, plan: Plan, budget_s: f64) -> Plan {
    if !is_for(study, &plan) || blocks(&plan) < FIRST_LOOK {
        return plan;
    }
    let candidates: Vec<String> = plan.realizable().map(|condition| condition.name.clone()).collect();
    let race = Race { budget_s: Some(budget_s), ..Race::of(candidates, QUESTION, study.sampling.seed) };
    let first_s = plan.data_s + plan.trials_s() / blocks(&plan) as f64;
    let mut raced = begun(Plan { estimated_s: first_s, ..plan }, race);
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

/// The plan of a race that continues, with more time if it is given. If it had ended for lack of time, that was a look.
pub fn resumed(mut plan: Plan, records: &[TrialRecord], budget_s: Option<f64>) -> Plan {
    let Some(race) = &plan.race else { return plan };
    let laps = Laps::of(&plan, race, records, None);
    let is_over = laps.decided(race).is_some_and(|look| look.stop.is_some());
    let look = is_over.then_some(laps.blocks.len()).filter(|blocks| race.early_looks.last() != Some(blocks));
    if let Some(race) = &mut plan.race {
        race.early_looks.extend(look);
        race.sessions += 1;
        race.budget_s = budget_s.or(race.budget_s);
    }
    plan
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
            plan.push(block, condition, lifetime);
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::laps::{RaceLook, RaceStop};
    use tare_results::schema::SampleRecord;

    /// Runs a race of two candidates to its end. A block takes 2 s, and b is `ahead` of a by this factor.
    fn run(mut plan: Plan, records: &mut Vec<TrialRecord>, ahead: fn(usize) -> f64) -> (Plan, RaceLook) {
        loop {
            for planned in &plan.trials[records.len()..] {
                let tps = if planned.condition == "b" { 100.0 * ahead(planned.block) } else { 100.0 };
                let samples =
                    vec![SampleRecord { metrics: [("tps".to_owned(), tps)].into(), ..SampleRecord::default() }];
                let record = TrialRecord::new(planned, 1, BTreeMap::new(), String::new());
                records.push(TrialRecord { elapsed_s: 1.0, samples, ..record });
            }
            let Some(more) = extended(&plan, records) else { break };
            plan = more;
        }
        let race = plan.race.clone().unwrap();
        let look = Laps::of(&plan, &race, records, None).decided(&race).unwrap();
        (plan, look)
    }

    fn budget(blocks: usize) -> f64 {
        2.0 * blocks as f64 + 0.5
    }

    fn begun_for(blocks: usize) -> Plan {
        let race = Race::of(["a", "b"].map(str::to_owned).to_vec(), QUESTION, 1);
        begun(Plan::default(), Race { budget_s: Some(budget(blocks)), ..race })
    }

    #[test]
    fn however_often_its_time_is_over_a_race_has_no_more_looks_than_planned() {
        let turns = |block: usize| if block % 2 == 0 { 1.5 } else { 1.0 / 1.5 };
        for every in 1..=12 {
            let (mut plan, mut records, mut ends) = (begun_for(every), Vec::new(), Vec::new());
            let end = loop {
                let (ran, look) = run(plan, &mut records, turns);
                ends.push(look.standing.blocks);
                if look.stop != Some(RaceStop::Budget) {
                    break look;
                }
                let longer = Some(budget(every * (ends.len() + 1)));
                plan = resumed(resumed(ran, &records, None), &records, longer);
            };
            assert_eq!(end.stop, Some(RaceStop::LastLook));
            // Every end was a look, and with the others there are as many as without an end.
            let looks = end.standing.looks;
            assert!(ends.iter().all(|end| *end < FIRST_LOOK || looks.contains(end)), "{every}: {ends:?} {looks:?}");
            assert_eq!(looks.len(), racing::LOOKS.len());
        }
    }

    #[test]
    fn what_a_race_named_at_the_end_of_its_time_stays_named() {
        // The upper limit of ln(a / b) is 0.046 after 11 blocks, and -0.044 after 12, when no look is due.
        let late = |block: usize| if block % 2 == 0 { 0.135_f64.exp() } else { 1.135_f64.exp() };
        let mut records = Vec::new();
        let (plan, look) = run(begun_for(12), &mut records, late);
        assert_eq!((look.stop, look.standing.blocks), (Some(RaceStop::Decided), 12));
        let (_, again) = run(resumed(plan, &records, Some(budget(99))), &mut records, late);
        assert_eq!(again, look);
    }
}
