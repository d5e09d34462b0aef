//! In every trial of every built-in study, the parts of a transaction's time add up to the whole.

use crate::support::{World, json, text};
use std::collections::BTreeSet;
use tare_findings::time::{Part, TrialTime};
use tare_results::metric::TPS;
use tare_results::schema::{Outcome, PlannedCondition, TrialRecord};
use tare_study::language::builtin::{BUILTIN, Builtin};

/// Largest relative difference between the parts and the whole.
const CLOSES: f64 = 0.02;
/// Loads that run no transactions, so that their trials have no such time.
const WITHOUT_TRANSACTIONS: [&str; 2] = ["counters", "dbt3"];
/// One block of short samples, with everything that has a part.
const SHORT: [&str; 9] = [
    "sampling.trials=1",
    "sampling.attempts=1",
    "sampling.samples=1",
    "sampling.sample_s=0.3",
    "sampling.probe=off",
    "sampling.steal_limit=off",
    "sampling.foreign_cpu_limit=off",
    "capture.waits=on",
    "capture.locks=on",
];

/// Built-in studies whose trials have no such time on any machine.
const WITHOUT_TIME: [&str; 5] =
    ["insert-benchmark", "global-counters", "single-thread-stability", "query-21", "no-effect-list"];

#[test]
#[ignore = "two minutes of all built-in studies: make test-long"]
fn parts_add_up_to_the_whole_in_every_trial_of_every_built_in_study() {
    let world = World::sharing();
    let mut without = Vec::new();
    let mut trials = 0;
    for builtin in BUILTIN {
        match checked(&world, builtin) {
            Ok(seen) => {
                println!("{}: the parts of {seen} trials add up", builtin.name);
                trials += seen;
            }
            Err(NoParts::Here(reason)) => println!("{} cannot run here: {reason}", builtin.name),
            Err(NoParts::Anywhere(reason)) => {
                println!("{} has no parts: {reason}", builtin.name);
                without.push(builtin.name);
            }
        }
    }
    assert_eq!(without, WITHOUT_TIME);
    assert!(trials > 0);
}

/// Why no trial of a study has parts, on this machine or on any.
enum NoParts {
    Here(String),
    Anywhere(String),
}

/// The number of trials whose parts were added up.
fn checked(world: &World, builtin: &Builtin) -> Result<usize, NoParts> {
    let sets = SHORT.iter().flat_map(|set| ["--set", *set]);
    let run: Vec<&str> = ["run", builtin.name, "--quick"].into_iter().chain(sets).collect();
    // It fails if no condition can be realized.
    let planned = json(&text(&world.output(&[&run[..], &["--dry-run", "--json"]].concat()).stdout));
    let planned = planned["conditions"].as_array().unwrap();
    let load = planned[0]["settings"]["workload.name"].as_str().unwrap();
    if WITHOUT_TRANSACTIONS.contains(&load) {
        return Err(NoParts::Anywhere(format!("the load {load} runs no transactions")));
    }
    let reasons = planned.iter().filter_map(|one| Some(format!("{}: {}", one["name"], one["reason"].as_str()?)));
    let left_out: Vec<String> = reasons.collect();
    if left_out.len() == planned.len() {
        return Err(NoParts::Here(left_out.join("; ")));
    }
    world.exits(0, &[&run[..], &["--out", builtin.name]].concat());
    let results = tare_results::open(&world.path(builtin.name)).unwrap();
    let plan = &results.plan.as_ref().unwrap().conditions;
    let mut seen = BTreeSet::new();
    let trials = || results.trials.iter().filter(|trial| trial.attempt > 0);
    if trials().all(|trial| trial.samples.iter().all(|sample| !sample.metrics.contains_key(TPS.name()))) {
        return Err(NoParts::Anywhere("its steps have metrics of their own".to_owned()));
    }
    for trial in trials() {
        assert_ne!(trial.outcome, Outcome::Failed, "{}, {}: {:?}", builtin.name, trial.condition, trial.reason);
        let planned = plan.iter().find(|planned| planned.name == trial.condition).unwrap();
        let captures = results.captures.get(&(trial.trial, trial.attempt));
        let time = TrialTime::of_planned(trial, captures, Some(planned));
        adds_up(&time.unwrap_or_else(|| panic!("{}, {}: no time", builtin.name, trial.condition)), planned);
        seen.insert(trial.condition.as_str());
    }
    left_out.iter().for_each(|reason| println!("{}, left out here: {reason}", builtin.name));
    assert_eq!(seen.len() + left_out.len(), planned.len(), "{}: {seen:?}", builtin.name);
    Ok(trials().count())
}

/// The parts are the whole, and those that were measured are no more than that: less is not explained, but more was
/// counted twice.
fn adds_up(time: &TrialTime<'_>, planned: &PlannedCondition) {
    let whole_us = whole_us(time.trial, planned);
    let all: f64 = time.parts.values().sum();
    let measured = all - time.part(&Part::NotExplained);
    let [all, measured] = [all, measured].map(|us| us / whole_us);
    println!("{}: {all:.4}, measured {measured:.3} of {whole_us:.0} us", time.trial.condition);
    assert!((all - 1.0).abs() <= CLOSES && measured <= 1.0 + CLOSES, "{all} {measured} {time:?}");
}

/// Connections / throughput, microseconds: not from the parts.
fn whole_us(trial: &TrialRecord, planned: &PlannedCondition) -> f64 {
    let clients = planned.settings["workload.threads"].whole(1, usize::MAX).unwrap();
    let total = |of: &dyn Fn(usize) -> f64| (0..trial.samples.len()).map(of).sum::<f64>();
    let seconds = total(&|at| trial.samples[at].elapsed_s);
    let transactions = total(&|at| trial.samples[at].metrics[TPS.name()] * trial.samples[at].elapsed_s);
    1e6 * clients as f64 * seconds / transactions
}
