//! Decisions after a pilot, on artificial records.

use super::*;
use crate::language::document::Source;
use crate::language::parse::{Overrides, parse};
use std::collections::BTreeMap;
use tare_results::schema::{PlannedCondition, PlannedTrial, SCHEMA, SampleRecord};

fn study(target: f64, budget_s: f64) -> Study {
    let text = format!(
        "name = \"made-up\"\n[sampling]\ntrials = 4\nsamples = 3\nsample_s = 1\nwarmup_s = 2\n\
         target_half_width = {target}\nbudget_s = {budget_s}\nseed = 5\n"
    );
    parse(Source { origin: "test", text: &text }, &Overrides::default()).unwrap()
}

/// A pilot over two conditions whose values are `value(condition, block, sample)`.
fn pilot(study: &Study, value: impl Fn(usize, usize, usize) -> f64) -> (Plan, Vec<TrialRecord>) {
    let names = ["steady", "luck"];
    let condition =
        |name: &&str| PlannedCondition { name: (*name).to_owned(), realizable: true, ..PlannedCondition::default() };
    let order = tare_stats::order::randomized_blocks(2, first_trials(&study.sampling), 5);
    let trials: Vec<PlannedTrial> = order
        .iter()
        .enumerate()
        .flat_map(|(block, order)| order.iter().map(move |i| (block, names[*i].to_owned())))
        .enumerate()
        .map(|(trial, (block, condition))| PlannedTrial { trial, block, condition, lifetime: None })
        .collect();
    let records = trials.iter().map(|planned| record(planned, study.sampling.samples, &value)).collect();
    let plan = Plan {
        schema: SCHEMA,
        study: "made-up".into(),
        seed: 5,
        conditions: names.iter().map(condition).collect(),
        trials,
        samples: study.sampling.samples,
        ..Plan::default()
    };
    (plan, records)
}

fn record(planned: &PlannedTrial, samples: usize, value: &impl Fn(usize, usize, usize) -> f64) -> TrialRecord {
    let which = usize::from(planned.condition == "luck");
    let sample = |sample: usize| SampleRecord {
        sample,
        elapsed_s: 1.0,
        metrics: BTreeMap::from([("tps".into(), value(which, planned.block, sample)), ("qps".into(), 1.0)]),
        ..SampleRecord::default()
    };
    TrialRecord {
        // Two seconds of warm-up, and one for start and stop.
        elapsed_s: 3.0 + samples as f64,
        samples: (0..samples).map(sample).collect(),
        ..TrialRecord::new(planned, 1, BTreeMap::new(), String::new())
    }
}

/// Trials of "luck" differ by 10%, samples by 1%; "steady" varies much less.
fn lucky(condition: usize, block: usize, sample: usize) -> f64 {
    let between = [0.1, -0.1, 0.05, -0.05][block % 4] * [0.001, 1.0][condition];
    1000.0 * (1.0 + between + [0.01, -0.01, 0.0][sample % 3] * [0.1, 1.0][condition])
}

#[test]
fn the_least_steady_case_decides_and_the_schedule_grows_in_the_same_order() {
    let study = study(0.03, 1e6);
    let (plan, records) = pilot(&study, lucky);
    let grown = extended(&study, &plan, &records).unwrap();
    let decision = grown.decision.clone().unwrap();
    // By hand: the trial means of "luck" are 1.1, 0.9, 1.05, 0.95: S^2 = 0.025 / 3. T_1^2 = 0.0001, so that one sample
    // is enough, and S^2 for one is T_2^2 + T_1^2 = 0.025 / 3 - 0.0001 / 3 + 0.0001.
    let s2: f64 = 0.025 / 3.0 - 0.000_1 / 3.0 + 0.000_1;
    // Planned with 1.89 times that, the upper bound at two thirds of 3 degrees of freedom. t is 1.99 to 2.00 for 65
    // to 75.
    let enough = |n: f64| 1.995 * (1.89 * s2 / n).sqrt();
    assert!(enough(decision.trials as f64 + 1.0) < 0.03 && enough(decision.trials as f64 - 2.0) > 0.03, "{decision:?}");
    assert_eq!((decision.samples, decision.first_trial, decision.pilot_counts), (1, 8, true));
    assert!(decision.reason.contains("tps at luck") && decision.half_width.unwrap() <= 0.03, "{decision:?}");
    assert_eq!(grown.trials.len(), 2 * decision.trials);
    assert_eq!(grown.trials[..8], plan.trials[..]);
    let whole = tare_stats::order::randomized_blocks(2, decision.trials, 5);
    let names = ["steady", "luck"];
    assert!(
        grown.trials.iter().zip(whole.concat()).enumerate().all(|(i, (t, c))| t.trial == i && t.condition == names[c])
    );
    assert_eq!(extended(&study, &plan, &records), Some(grown.clone()), "the same from the same records");
    assert_eq!(extended(&study, &grown, &records), None, "decided once");
    assert_eq!(decided(&study.sampling, &mut Settings::default(), &grown, 7).samples, 3);
    assert_eq!(decided(&study.sampling, &mut Settings::default(), &grown, 8).samples, 1);
}

#[test]
fn a_schedule_that_does_not_fit_into_the_time_is_reported() {
    // A trial with one sample takes 4 s, and there are two conditions.
    let study = study(0.03, 80.0);
    let (plan, records) = pilot(&study, lucky);
    let decision = extended(&study, &plan, &records).unwrap().decision.unwrap();
    assert_eq!(decision.trials, 10, "{decision:?}");
    assert!(
        decision.half_width.unwrap() > 0.03 && decision.reason.contains("as many as fit into 80 s"),
        "{decision:?}"
    );
}

#[test]
fn a_pilot_that_was_still_warming_up_does_not_count() {
    let mut study = study(0.03, 1e6);
    study.sampling.samples = 40;
    // The first ten seconds rise to the level; nothing else varies by more than 1%.
    let rising = |_: usize, block: usize, sample: usize| {
        let warm = 1.0 - 0.5 * (-(sample as f64) / 3.0).exp();
        1000.0 * warm * (1.0 + 0.002 * ((block * 7 + sample * 5) % 11) as f64 / 11.0)
    };
    let (plan, records) = pilot(&study, rising);
    let grown = extended(&study, &plan, &records).unwrap();
    let decision = grown.decision.unwrap();
    assert!(!decision.pilot_counts && (7.0..=25.0).contains(&decision.warmup_s), "{decision:?}");
    assert_eq!(grown.trials.len(), 8 + 2 * decision.trials, "the pilot's trials are replaced");
    assert!(decision.reason.contains("does not count"), "{decision:?}");
    // A level series is not mistaken for a rising one.
    let (plan, records) = pilot(&study, lucky);
    assert!(extended(&study, &plan, &records).unwrap().decision.unwrap().pilot_counts);
}

#[test]
fn without_a_target_or_a_result_nothing_is_chosen() {
    let mut with = study(0.03, 100.0);
    let (plan, records) = pilot(&with, lucky);
    let none = extended(&with, &plan, &[]).unwrap();
    assert_eq!(none.trials.len(), 8);
    assert!(none.decision.unwrap().reason.contains("Nothing could be decided"));
    with.sampling.target_half_width = None;
    assert_eq!(extended(&with, &plan, &records), None);
}

/// Noise at one place of a numbered study, roughly normal with a standard deviation of 1.
fn noise(study: u64, place: [usize; 3]) -> f64 {
    let mut state = place
        .iter()
        .fold(study + 1, |state, part| (state ^ *part as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..12).map(|_| uniform()).sum::<f64>() - 6.0
}

#[test]
fn the_half_width_that_was_expected_is_reached_and_its_interval_covers() {
    let study = study(0.03, 1e6);
    let (mut covered, mut added, studies) = (0, Vec::new(), 60);
    for number in 0..studies {
        let value = |condition: usize, block: usize, sample: usize| {
            let between = [0.02, 0.05][condition] * noise(number, [condition, block, 99]);
            1000.0 * (1.0 + between + 0.01 * noise(number, [condition, block, sample]))
        };
        let (mut plan, mut records) = pilot(&study, value);
        let mut planned = None;
        while let Some(grown) = extended(&study, &plan, &records) {
            plan = grown;
            let decision = plan.decision.clone().unwrap();
            planned.get_or_insert(decision.trials);
            let new = plan.trials.iter().skip(records.len());
            records.extend(new.map(|planned| record(planned, decision.samples, &value)).collect::<Vec<_>>());
        }
        let decision = plan.decision.unwrap();
        assert_eq!(plan.trials.len(), 2 * decision.trials, "{decision:?}");
        added.push(decision.trials - planned.unwrap());
        let of = |r: &&TrialRecord| r.condition == "luck";
        let means: Vec<f64> = records.iter().filter(of).filter_map(|r| mean(&r.values("tps"))).collect();
        let ci = tare_stats::trials::mean_interval(&means, 0.95).unwrap();
        assert!(ci.width() / 2.0 <= 0.0301 * mean(&means).unwrap(), "study {number}: {ci:?}, {}", decision.reason);
        assert_eq!(decision.reason.contains("added"), added.last() != Some(&0), "{}", decision.reason);
        covered += usize::from(ci.contains(1000.0));
    }
    added.sort_unstable();
    println!("covered {covered} of {studies}, added {added:?}");
    assert!(covered >= 52 && added[30] <= 4 && added[59] >= 1, "{covered} of {studies}, added {added:?}");
}

#[test]
fn no_block_is_added_beyond_the_time_there_is() {
    // A misleading pilot: later trials are ten times as noisy.
    let value = |condition: usize, block: usize, sample: usize| {
        let sd = if block < 4 { 0.02 } else { 0.2 };
        1000.0 * (1.0 + sd * noise(5, [condition, block, 99]) + 0.01 * noise(5, [condition, block, sample]))
    };
    let study = study(0.03, 200.0);
    let (plan, mut records) = pilot(&study, value);
    let mut plan = extended(&study, &plan, &records).unwrap();
    assert!(plan.decision.as_ref().unwrap().half_width.unwrap() <= 0.03);
    for _ in 0..10 {
        let samples = plan.decision.as_ref().unwrap().samples;
        let new: Vec<TrialRecord> =
            plan.trials.iter().skip(records.len()).map(|planned| record(planned, samples, &value)).collect();
        records.extend(new);
        match extended(&study, &plan, &records) {
            Some(grown) => plan = grown,
            None => break,
        }
    }
    let spent_s: f64 = records.iter().map(|record| record.elapsed_s).sum();
    let decision = plan.decision.clone().unwrap();
    assert!((150.0..=200.0).contains(&spent_s), "{spent_s} s, {decision:?}");
    assert!(decision.half_width.unwrap() > 0.03 && decision.reason.ends_with("not enough for more."), "{decision:?}");
    assert_eq!(extended(&study, &plan, &records), None, "said once");
}

#[test]
fn a_plan_does_not_grow_beyond_what_it_has_room_for() {
    let study = study(1e-5, 1e9);
    let (plan, records) = pilot(&study, lucky);
    let plan = extended(&study, &plan, &records).unwrap();
    let decision = plan.decision.as_ref().unwrap();
    assert!(plan.trials.len() == MOST_TRIALS && decision.trials == MOST_TRIALS / 2, "{decision:?}");
    assert!(decision.reason.contains("as many as a plan has room for (250000 of all conditions)"), "{decision:?}");
}
