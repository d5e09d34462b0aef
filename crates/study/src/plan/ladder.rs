//! Ladders, whose levels (rungs) are measured one after the other in one server lifetime: which conditions belong to
//! one ladder, and their order.

use super::design::Condition;
use crate::language::spec::Study;
use std::collections::{BTreeMap, HashMap};
use tare_cpuset::CpuSet;
use tare_results::schema::{Levels, Plan, PlannedCondition, PlannedPlacement, PlannedTrial};

pub(crate) fn factors(ladder: &str) -> impl Iterator<Item = &str> {
    ladder.split(',').map(str::trim)
}

fn without(levels: &Levels, factor: &str) -> Levels {
    let mut others = levels.clone();
    factors(factor).for_each(|factor| drop(others.remove(factor)));
    others
}

/// Marks a rung that needs another server than the first rung of its ladder as not realizable, with that reason.
pub(super) fn check(study: &Study, planned: &mut [PlannedCondition], conditions: &[Condition]) {
    let Some(factor) = &study.design.ladder else { return };
    let mut firsts: BTreeMap<Levels, (&Condition, PlannedPlacement)> = BTreeMap::new();
    for (planned, condition) in planned.iter_mut().zip(conditions).filter(|(planned, _)| planned.realizable) {
        let placement = planned.placement.clone().unwrap_or_default();
        let first = firsts.entry(without(&planned.levels, factor)).or_insert((condition, placement.clone()));
        let reason = alone(condition).or_else(|| differs(study, (condition, &placement), (first.0, &first.1)));
        planned.reason = reason.map(|why| format!("design.ladder = {factor}: {why}"));
        planned.realizable = planned.reason.is_none();
    }
}

fn alone(condition: &Condition) -> Option<String> {
    let load = condition.settings.workload.load.load();
    match () {
        () if !load.needs_server() => {
            Some(format!("the workload {} has no server that the levels could share", load.name()))
        }
        () if condition.settings.engine.running.is_requested() => {
            Some("the study starts no server, so all trials share one in any case".to_owned())
        }
        () if condition.settings.client.on.host.is_some() => {
            Some("clients on another host are started again for every trial".to_owned())
        }
        () if !load.parts().is_empty() => Some("with order = \"alone\" each query has a server of its own".to_owned()),
        () if !condition.settings.workload.load.clone().load_mut().take_warm() => {
            Some(format!("the workload {} reads all of its data again for every level", load.name()))
        }
        () => None,
    }
}

/// Why a rung needs another server than the first one.
fn differs(
    study: &Study,
    (rung, at): (&Condition, &PlannedPlacement),
    (first, first_at): (&Condition, &PlannedPlacement),
) -> Option<String> {
    let seed = study.sampling.seed;
    let data = |condition: &Condition| condition.settings.workload.load.load().dataset(seed);
    let server = |at: &PlannedPlacement| {
        let cpus: CpuSet = at.server.iter().flat_map(CpuSet::iter).collect();
        (cpus, at.background.clone(), at.memory.clone())
    };
    let what = match () {
        () if rung.settings.engine != first.settings.engine => "its options",
        () if rung.settings.process != first.settings.process => "the properties of its process",
        () if rung.settings.machine != first.settings.machine => "machine settings",
        () if data(rung) != data(first) => "its data",
        () if server(at) != server(first_at) => {
            "where it runs (with bind = \"thread\" that follows from the number of threads)"
        }
        () => return None,
    };
    Some(format!("{} and {} cannot share a server: they differ in {what}", first.name, rung.name))
}

/// Reorders each block so that the rungs of a ladder follow each other, in the random order of the block.
pub(super) fn in_lifetimes(trials: Vec<PlannedTrial>, planned: &[PlannedCondition], factor: &str) -> Vec<PlannedTrial> {
    let of: HashMap<&str, Levels> =
        planned.iter().map(|known| (known.name.as_str(), without(&known.levels, factor))).collect();
    let mut ordered: Vec<PlannedTrial> = Vec::with_capacity(trials.len());
    let mut lifetimes = 0;
    for block in trials.chunk_by(|a, b| a.block == b.block) {
        let mut ladders: Vec<Vec<&PlannedTrial>> = Vec::new();
        let mut known: HashMap<Option<&Levels>, usize> = HashMap::new();
        for trial in block {
            let ladder = *known.entry(of.get(trial.condition.as_str())).or_insert(ladders.len());
            if ladder == ladders.len() {
                ladders.push(Vec::new());
            }
            ladders[ladder].push(trial);
        }
        for rungs in ladders {
            for rung in rungs {
                ordered.push(PlannedTrial { trial: ordered.len(), lifetime: Some(lifetimes), ..rung.clone() });
            }
            lifetimes += 1;
        }
    }
    ordered
}

/// Numbers of the trials that follow this one in its server's lifetime, beginning with itself; only itself if it has
/// a server of its own.
pub fn rest_of_lifetime(plan: &Plan, trial: usize) -> Vec<usize> {
    let behind = place_of(plan, trial).and_then(|place| plan.trials.get(place..)).unwrap_or_default();
    let lifetime = behind.first().and_then(|planned| planned.lifetime);
    // The trials of a lifetime are consecutive.
    let shares = |planned: &&PlannedTrial| lifetime.is_some() && planned.lifetime == lifetime;
    std::iter::once(trial).chain(behind.iter().skip(1).take_while(shares).map(|planned| planned.trial)).collect()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rungs_of_a_block_share_a_lifetime_in_the_order_that_was_drawn() {
        let condition = |place: &str, threads: &str| PlannedCondition {
            name: format!("placement={place} threads={threads}"),
            levels: [("placement".to_owned(), place.to_owned()), ("threads".to_owned(), threads.to_owned())].into(),
            realizable: true,
            ..PlannedCondition::default()
        };
        let planned: Vec<PlannedCondition> =
            ["a", "b"].iter().flat_map(|p| ["1", "2", "4"].map(|t| condition(p, t))).collect();
        let drawn = [4, 1, 0, 5, 3, 2, 2, 3, 1, 4, 0, 5];
        let trials = drawn.iter().enumerate().map(|(trial, c)| PlannedTrial {
            trial,
            block: trial / 6,
            condition: planned[*c].name.clone(),
            lifetime: None,
        });
        let ordered = in_lifetimes(trials.collect(), &planned, "threads");
        let of = |lifetime| {
            let rungs = ordered.iter().filter(|trial| trial.lifetime == Some(lifetime));
            rungs.map(|trial| trial.condition.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(of(0), ["placement=b threads=2", "placement=b threads=4", "placement=b threads=1"]);
        assert_eq!(of(2), ["placement=a threads=4", "placement=a threads=2", "placement=a threads=1"]);
        assert!(ordered.iter().enumerate().all(|(place, trial)| trial.trial == place));
    }

    #[test]
    fn the_next_trial_of_a_lifetime_is_found_in_whole_plans_and_shards() {
        let of = |numbers: &[usize], lifetime: Option<usize>| Plan {
            trials: numbers
                .iter()
                .map(|trial| {
                    let lifetime = lifetime.map(|size| trial / size);
                    PlannedTrial { trial: *trial, block: trial / 4, condition: format!("c{}", trial % 4), lifetime }
                })
                .collect(),
            ..Plan::default()
        };
        let (whole, shard) = ([0, 1, 2, 3, 4, 5, 6, 7], [4, 5, 6, 7, 12, 13, 14, 15]);
        for (numbers, trial, rest) in [(whole, 5, vec![5, 6, 7]), (shard, 5, vec![5, 6, 7]), (shard, 15, vec![15])] {
            assert_eq!(rest_of_lifetime(&of(&numbers, Some(4)), trial), rest);
            assert_eq!(rest_of_lifetime(&of(&numbers, None), trial), [trial]);
        }
        assert_eq!(place_of(&of(&[2, 1, 0], None), 0), Some(2), "in no order that tare writes");
        assert_eq!(place_of(&of(&shard, None), 3), None);
    }
}
