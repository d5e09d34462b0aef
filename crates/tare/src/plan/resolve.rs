//! A study on a machine: which conditions it can do, on which CPUs, and in which order the trials come.

use crate::plan::adapt;
use crate::plan::design::{self, Condition};
use crate::plan::pilot;
use crate::study::settings::{Kind, Settings};
use crate::study::spec::Study;
use crate::trial::dataset;
use crate::trial::machine;
use crate::trial::process;
use crate::workload::counters;
use crate::workload::dbt3::Dbt3Settings;
use tare_engine::engine_by_name;
use tare_results::schema::{Plan, PlannedCondition, PlannedPlacement, PlannedTrial, SCHEMA};
use tare_topology::{CpuSet, Machine, MemoryPolicy, ResolvedPlacement};

/// Whose machine the plan is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// This one: its settings and this user's rights count.
    Here,
    /// A described one: only its topology is known.
    Described,
}

/// Resolves every condition and draws the order.
///
/// # Errors
/// What was expected, when a level does not fit; a parsed study has been checked for that.
pub fn resolve(study: &Study, on: &Machine, place: Where) -> Result<Plan, String> {
    let conditions = design::conditions(study)?;
    let mut planned: Vec<PlannedCondition> = conditions.iter().map(|c| plan_condition(c, on, place)).collect();
    if study.design.skip_identical {
        skip_identical(&mut planned);
    }
    let realizable: Vec<&PlannedCondition> = planned.iter().filter(|c| c.realizable).collect();
    let trials = schedule(&realizable, pilot::first_trials(&study.sampling), study.sampling.seed);
    let mut estimated_s = trials.len() as f64 * trial_s(study);
    if study.sampling.target_half_width.is_some() {
        estimated_s = estimated_s.max(study.sampling.budget_s);
    }
    Ok(Plan {
        schema: SCHEMA,
        study: study.name.clone(),
        seed: study.sampling.seed,
        conditions: planned,
        trials,
        samples: study.sampling.samples,
        estimated_s,
        decision: None,
        notes: pilot::note(&study.sampling).into_iter().collect(),
    })
}

/// Expected seconds of one trial: the load, and what starting and stopping the engine takes on an ordinary machine.
pub fn trial_s(study: &Study) -> f64 {
    if study.base.workload.kind == Kind::Counters {
        // Rounds, not seconds, are given: a guess until the first trials have been timed.
        return study.sampling.samples as f64 + 0.1;
    }
    if study.base.workload.kind == Kind::Dbt3 {
        return dbt3_s(&study.base.workload.dbt3, study.sampling.samples);
    }
    let around_s = engine_by_name(&study.base.engine.name).map_or(0.0, |engine| engine.start_cost_s());
    // A profile is made readable after the server has stopped, in about as long as it took to record.
    let capture = study.base.capture;
    let samples = study.sampling.samples + usize::from(capture.need_a_sample()) + usize::from(capture.profile);
    study.sampling.warmup_s + samples as f64 * study.sampling.sample_s + around_s
}

/// A guess, as for the counters: on an ordinary machine a query takes about two seconds at scale 1.
fn dbt3_s(dbt3: &Dbt3Settings, samples: usize) -> f64 {
    let scale = dbt3.scale.factor();
    3.0 + 10.0 * scale + executions(dbt3, samples) as f64 * (0.005 + 2.0 * scale)
}

/// Executions of all queries in a trial; without a warm-up there is one more of each, to look at its rows.
fn executions(dbt3: &Dbt3Settings, samples: usize) -> usize {
    dbt3.queries.count() * (samples + dbt3.warmup_runs.max(1))
}

/// Seconds a trial may take before it is stopped, where the study does not say: four times what it should, and a minute
/// with the time that its server may take to start. Queries are not guessed but have a limit each; of conditions that
/// differ the longest counts.
pub fn limit_s(study: &Study) -> f64 {
    let samples = study.sampling.samples;
    let queries_s = |settings: &Settings| {
        let dbt3 = &settings.workload.dbt3;
        match settings.workload.kind {
            Kind::Dbt3 => dbt3_s(dbt3, samples) + executions(dbt3, samples) as f64 * dbt3.query_timeout_s,
            Kind::Oltp | Kind::Counters => 0.0,
        }
    };
    // A study that came as far as a trial has conditions.
    let conditions = design::conditions(study).unwrap_or_default();
    let load_s = conditions.iter().map(|c| queries_s(&c.settings)).fold(trial_s(study), f64::max);
    60.0 + 4.0 * load_s + study.base.engine.start_timeout_s
}

fn plan_condition(condition: &Condition, on: &Machine, place: Where) -> PlannedCondition {
    let settings = &condition.settings;
    let resolved =
        settings.placement.resolve(on, settings.workload.threads).map_err(|e| e.to_string()).and_then(|placement| {
            match place {
                Where::Here => machine::available(settings)
                    .and_then(|()| process::available(settings))
                    .and_then(|()| dataset::available(settings))
                    .and_then(|()| match condition.levels.contains_key("engine") {
                        true => adapt::knows_options(settings),
                        false => Ok(()),
                    })
                    .and_then(|()| counters::available(&settings.workload))
                    .map(|()| placement),
                Where::Described => Ok(placement),
            }
        });
    let (placement, reason) = match resolved {
        Ok(placement) => (planned_placement(&placement), None),
        Err(reason) => (None, Some(reason)),
    };
    PlannedCondition {
        name: condition.name.clone(),
        levels: condition.levels.clone(),
        realizable: reason.is_none(),
        reason,
        placement,
    }
}

fn planned_placement(placement: &ResolvedPlacement) -> Option<PlannedPlacement> {
    let lists = |sets: &[CpuSet]| {
        sets.iter().map(|set| set.iter().map(|cpu| cpu as usize).collect()).collect::<Vec<Vec<usize>>>()
    };
    let memory = (placement.memory != MemoryPolicy::Default).then(|| placement.memory.to_string());
    let planned = PlannedPlacement { client: lists(&placement.client), server: lists(&placement.server), memory };
    (planned != PlannedPlacement::default()).then_some(planned)
}

/// A condition that puts every thread where an earlier one does says nothing new. Only the placement factor may differ.
fn skip_identical(conditions: &mut [PlannedCondition]) {
    for i in 1..conditions.len() {
        let (earlier, rest) = conditions.split_at_mut(i);
        let this = &mut rest[0];
        let same = |other: &&PlannedCondition| {
            let differ = |k: &String| this.levels.get(k) != other.levels.get(k);
            other.realizable
                && other.placement == this.placement
                && this.levels.keys().chain(other.levels.keys()).all(|k| k == "placement" || !differ(k))
        };
        if let Some(twin) = earlier.iter().find(same)
            && this.realizable
        {
            this.realizable = false;
            this.reason = Some(format!("on this machine it is the same placement as {}", twin.name));
        }
    }
}

/// Randomised complete blocks: every block holds every condition once, in an order of its own.
fn schedule(conditions: &[&PlannedCondition], blocks: usize, seed: u64) -> Vec<PlannedTrial> {
    tare_stats::order::randomized_blocks(conditions.len(), blocks, seed)
        .into_iter()
        .enumerate()
        .flat_map(|(block, order)| order.into_iter().map(move |i| (block, i)))
        .enumerate()
        .map(|(trial, (block, i))| PlannedTrial { trial, block, condition: conditions[i].name.clone() })
        .collect()
}
