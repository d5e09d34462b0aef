//! Rungs around the peak of each ladder, chosen from the measurements: those of the first blocks are far apart, and
//! those of later blocks lie between the best and its neighbours, as in a bisection. Every block has as many rungs of
//! each ladder as the first, so that all blocks take equally long and a step is a mean over equally many.

use super::ladder;
use super::looks::note;
use super::pilot::{blocks, metrics, usable};
use crate::language::spec::Study;
use std::collections::{BTreeMap, BTreeSet};
use tare_results::factor::LOADS;
use tare_results::looks::{ended_loads, looks};
use tare_results::metric::{self, Better};
use tare_results::question::Question;
use tare_results::schema::{Levels, Plan, PlannedCondition, PlannedTrial, Rungs, TrialRecord};
use tare_stats::descriptive::mean;
use tare_stats::order::randomized_blocks;

/// Blocks for which rungs stay the same: a single block does not show luck.
pub(super) const STAGE: usize = 2;
/// The factor whose levels are chosen.
const RUNGS: &str = "threads";
/// Factors whose levels a study of ladders compares at each number of threads: all get the same rungs.
const COMPARED: [&str; 2] = ["nodes", "caches"];

/// The rule by which rungs are chosen while a cut study runs: its numbers of threads, if it is about ladders, some
/// numbers were left out, and the rungs of a block share a server.
pub(super) fn rule<'c>(whole: &Study, cut: &Study, mut left_out: impl Iterator<Item = &'c String>) -> Option<Rungs> {
    let levels = |study: &Study| study.factors.iter().find(|factor| factor.name == RUNGS).map(|f| f.levels.len());
    let shared = cut.design.ladder.as_deref().is_some_and(|names| ladder::factors(names).any(|name| name == RUNGS));
    let asks = whole.question == Some(Question::Scaling) && shared && left_out.any(|factor| factor == RUNGS);
    let rule = Rungs { factor: RUNGS.to_owned(), at_once: levels(cut)?, blocks: cut.sampling.trials };
    (asks && rule.blocks >= 2 * STAGE).then_some(rule)
}

/// Replaces the schedule by the first blocks of these conditions. The looks take place at the ends of those stages
/// that coincide with a look of the study.
pub(super) fn begun(study: &Study, mut plan: Plan, first: &BTreeSet<String>) -> Plan {
    plan.trials.clear();
    if let Some(within) = &mut plan.within {
        within.blocks = within.rungs.as_ref().map(|rule| rule.blocks);
        let all = within.blocks.unwrap_or_default();
        let stages = std::iter::successors(Some(STAGE), |stage| (*stage < all).then(|| next_stage(*stage, all)));
        plan.notes.push(note(stages.filter(|stage| looks(all).contains(stage))));
    }
    with_blocks(study, plan, first)
}

/// The plan with further blocks, if all planned trials have ended and no look has settled the question. A load that a
/// look has `decided` is in none of them. The same records always give the same plan.
pub fn extended(
    study: &Study,
    plan: &Plan,
    records: &[TrialRecord],
    is_settled: impl FnOnce(&Plan, &[TrialRecord]) -> bool,
    decided: impl FnOnce(&Plan, &[TrialRecord]) -> BTreeSet<String>,
) -> Option<Plan> {
    let rule = plan.within.as_ref()?.rungs.as_ref()?;
    let ran = blocks(plan);
    let is_look = looks(rule.blocks).contains(&ran);
    if ran >= rule.blocks || (is_look && is_settled(plan, records)) {
        return None;
    }
    let mut over: BTreeSet<String> = ended_loads(plan).into_keys().collect();
    if is_look {
        over.extend(decided(plan, records));
    }
    let goes_on = |levels: &Levels| !LOADS.iter().filter_map(|of| levels.get(*of)).any(|load| over.contains(load));
    let mut ladders: BTreeMap<Levels, Vec<&PlannedCondition>> = BTreeMap::new();
    for condition in plan.realizable().filter(|condition| goes_on(&condition.levels)) {
        ladders.entry(others(&condition.levels, &rule.factor)).or_default().push(condition);
    }
    let ok = usable(records, 0);
    let name = metrics(&ok).into_iter().min_by_key(|name| metric::describe(name).rank)?;
    let chosen = ladders.into_values().flat_map(|conditions| next(&conditions, rule, &ok, &name));
    let chosen: BTreeSet<String> = chosen.collect();
    (!chosen.is_empty()).then(|| with_blocks(study, plan.clone(), &chosen))
}

fn others(levels: &Levels, factor: &str) -> Levels {
    let mut others = levels.clone();
    others.retain(|name, _| name != factor && !COMPARED.contains(&name.as_str()));
    others
}

fn rung(condition: &PlannedCondition, factor: &str) -> Option<u64> {
    condition.levels.get(factor)?.parse().ok()
}

fn next(conditions: &[&PlannedCondition], rule: &Rungs, ok: &[&TrialRecord], name: &str) -> Vec<String> {
    let all: Vec<u64> =
        conditions.iter().filter_map(|c| rung(c, &rule.factor)).collect::<BTreeSet<_>>().into_iter().collect();
    let sign = if metric::describe(name).better == Better::Higher { 1.0 } else { -1.0 };
    let value = |number: u64| {
        let here = conditions.iter().filter(|condition| rung(condition, &rule.factor) == Some(number));
        let trials = here.flat_map(|condition| ok.iter().filter(move |trial| trial.condition == condition.name));
        let values = trials.filter_map(|trial| mean(&trial.values(name)).filter(|value| *value > 0.0));
        mean(&values.map(|value| sign * value.ln()).collect::<Vec<_>>())
    };
    let wanted = around_peak(&all.iter().map(|number| value(*number)).collect::<Vec<_>>(), rule.at_once);
    let wanted: Vec<u64> = wanted.into_iter().map(|place| all[place]).collect();
    let named = conditions.iter().filter(|c| rung(c, &rule.factor).is_some_and(|number| wanted.contains(&number)));
    named.map(|condition| condition.name.clone()).collect()
}

/// Positions of at most `most` rungs: the best measured one, the middles between it and its measured neighbours,
/// these neighbours, then the nearest others. `values`: larger is better; none for a rung that was not measured.
fn around_peak(values: &[Option<f64>], most: usize) -> Vec<usize> {
    let measured: Vec<(usize, f64)> = values.iter().enumerate().filter_map(|(i, value)| Some((i, (*value)?))).collect();
    let Some((peak, _)) = measured.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)) else { return Vec::new() };
    let below = measured.iter().map(|(place, _)| *place).filter(|place| *place < peak).max().unwrap_or(peak);
    let above = measured.iter().map(|(place, _)| *place).find(|place| *place > peak).unwrap_or(peak);
    let middles = [(below + peak) / 2, (peak + above).div_ceil(2)];
    let mut near: Vec<usize> = (0..values.len()).collect();
    near.sort_by_key(|place| place.abs_diff(peak));
    let mut chosen: Vec<usize> = Vec::new();
    for place in [peak].into_iter().chain(middles).chain([below, above]).chain(near) {
        if chosen.len() < most && !chosen.contains(&place) {
            chosen.push(place);
        }
    }
    chosen
}

/// The block after which the next stage ends; a single last block belongs to the stage before it.
fn next_stage(from: usize, all: usize) -> usize {
    if all < from + 2 * STAGE { all } else { from + STAGE }
}

fn with_blocks(study: &Study, mut plan: Plan, chosen: &BTreeSet<String>) -> Plan {
    let Some(all) = plan.within.as_ref().and_then(|within| within.rungs.as_ref()).map(|rule| rule.blocks) else {
        return plan;
    };
    let from = blocks(&plan);
    let to = next_stage(from, all);
    let drawn = randomized_blocks(plan.conditions.len(), to, plan.seed).into_iter().enumerate().skip(from);
    let trials = drawn.flat_map(|(block, order)| order.into_iter().map(move |place| (block, place)));
    let trials = trials.map(|(block, place)| (block, plan.conditions[place].name.clone()));
    let trials = trials.filter(|(_, condition)| chosen.contains(condition));
    let trials =
        trials.enumerate().map(|(trial, (block, condition))| PlannedTrial { trial, block, condition, lifetime: None });
    let factors = study.design.ladder.as_deref().unwrap_or_default();
    let more = ladder::in_lifetimes(trials.collect(), &plan.conditions, factors);
    let (trials, lifetimes) =
        (plan.trials.len(), plan.trials.iter().filter_map(|trial| trial.lifetime).max().map_or(0, |last| last + 1));
    plan.trials.extend(more.into_iter().map(|trial| PlannedTrial {
        trial: trial.trial + trials,
        lifetime: trial.lifetime.map(|lifetime| lifetime + lifetimes),
        ..trial
    }));
    plan
}
