//! Simulates studies that may end at an interim look: how often their answer is wrong, and when they end.

use super::execute::so_far;
use super::schedules::drawn;
use super::{settled, settled_loads};
use tare_findings::verdict::{Answer, Verdict};
use tare_report::words::AnswerJson;
use tare_results::schema::{Levels, LifetimeRecord, Plan, PlannedTrial, SampleRecord, TrialRecord};
use tare_study::language::builtin;
use tare_study::language::document::Source;
use tare_study::language::parse::{Overrides, parse};
use tare_study::language::spec::Study;
use tare_study::plan::resolve::{Where, resolve};
use tare_study::plan::{looks, rungs, within};
use tare_topology::Machine;

const STUDY: &str = "name = \"own\"\nquestion = \"effect\"\n[engine]\nname = \"mariadb\"\n[workload]\nname = \"read_write\"\n\
     [sampling]\ntrials = 12\nsample_s = 60\nwithin_s = 2400\n[factors]\naslr = [\"on\", \"off\"]\n\
     option.innodb_adaptive_hash_index = [\"ON\", \"OFF\"]\n";

fn cut() -> (Study, Plan) {
    let machine = Machine::synthetic("package:1 core:4 pu:1").unwrap();
    let study = parse(Source { origin: "own", text: STUDY }, &Overrides::default()).unwrap();
    let plan = |study: &Study| resolve(study, &machine, Where::Described);
    let whole = plan(&study).unwrap();
    within::fit(study, whole, 4, plan).unwrap()
}

/// Runs a plan and its extensions by `extended`, with a throughput and a server lifetime for each trial.
fn run_all(
    plan: &Plan,
    of: impl Fn(&Plan, &PlannedTrial, &Levels) -> (f64, Option<LifetimeRecord>),
    extended: impl Fn(&Plan, &[TrialRecord]) -> Option<Plan>,
) -> (Plan, Vec<TrialRecord>) {
    let mut plan = plan.clone();
    let mut records: Vec<TrialRecord> = Vec::new();
    loop {
        for planned in &plan.trials[records.len()..] {
            let levels = plan.conditions.iter().find(|c| c.name == planned.condition).unwrap().levels.clone();
            let (tps, lifetime) = of(&plan, planned, &levels);
            let metrics = [("tps".into(), tps)].into();
            let samples = vec![SampleRecord { elapsed_s: 10.0, metrics, ..SampleRecord::default() }];
            records.push(TrialRecord { samples, lifetime, ..TrialRecord::new(planned, 1, levels, String::new()) });
        }
        match extended(&plan, &records) {
            Some(more) => plan = more,
            None => return (plan, records),
        }
    }
}

/// The sum of twelve uniform numbers, each with its own seed: nearly normal, with a variance of 1.
fn luck(seed: impl Fn(u64) -> [u64; 3]) -> f64 {
    (0..12).map(|number| (drawn(&seed(number)) >> 11) as f64 / (1_u64 << 53) as f64).sum::<f64>() - 6.0
}

/// A study whose trials vary by 2% and are faster by `gain` without ASLR; it runs until `ends` is true at a look.
fn ran(
    study: &Study,
    plan: &Plan,
    gain: f64,
    seed: u64,
    ends: impl Fn(&Plan, &[TrialRecord]) -> bool,
) -> (Plan, Vec<TrialRecord>) {
    let of = |_: &Plan, planned: &PlannedTrial, levels: &Levels| {
        let gained = if levels["aslr"] == "off" { 1.0 + gain } else { 1.0 };
        (1000.0 * (0.02 * luck(|number| [seed, planned.trial as u64, number])).exp() * gained, None)
    };
    run_all(plan, of, |plan, records| looks::extended(study, plan, records, &ends))
}

fn answered(study: &Study, plan: &Plan, records: &[TrialRecord]) -> Answer {
    tare_findings::answered(&so_far(study, plan, records))
}

#[test]
fn interim_looks_keep_the_error_rate_under_any_stopping_rule() {
    let (study, plan) = cut();
    assert_eq!(plan.within.as_ref().unwrap().blocks, Some(12));
    // The worst possible rule: the study ends as soon as anything is claimed.
    let claims = |plan: &Plan, records: &[TrialRecord]| answered(&study, plan, records).verdict.is_claim();
    let wrong = (0..400).filter(|seed| {
        let (plan, records) = ran(&study, &plan, 0.0, *seed, claims);
        claims(&plan, &records)
    });
    let wrong = wrong.count();
    println!("{wrong} of 400 claim what is not");
    // 2% plus twice the standard error of 400 studies.
    assert!(wrong <= 13, "{wrong} of 400");
}

#[test]
fn a_study_of_effects_ends_when_every_factor_is_shown_or_too_small_to_matter() {
    let (study, plan) = cut();
    let whole = plan.trials_in_all();
    for (gain, finds, fewest_early) in [(0.08, true, 25), (0.0, false, 15)] {
        let (mut right, mut early, mut trials) = (0, 0, 0);
        for seed in 0..40 {
            let (plan, records) = ran(&study, &plan, gain, seed, |plan, records| settled(&study, plan, records));
            let answer = answered(&study, &plan, &records);
            let named = matches!(&answer.verdict, Verdict::Moved { first, rest, .. }
                if rest.is_empty() && first.term.0.iter().all(|factor| factor.factors == ["aslr"]));
            right += usize::from(named == finds);
            trials += records.len();
            let Some(look) = answer.ended_early else { continue };
            early += 1;
            let message = format!("after {} of 12 blocks (look {} of 4)", look.blocks, look.number);
            let details = AnswerJson::of(&answer).details;
            assert!(
                records.len() == 4 * look.blocks && details.iter().any(|words| words.contains(&message)),
                "{details:?}"
            );
        }
        println!("{gain}: right {right}, early {early}, {} trials of {whole} on average", trials / 40);
        assert!(
            right >= 38 && early >= fewest_early && trials < 40 * whole * 9 / 10,
            "{gain}: {right} {early} {trials}"
        );
    }
}

/// Ladders of two loads in 3 h, whose last step gains `gain` on average; servers differ by 2% and trials by 2.5%.
fn climbed(study: &Study, plan: &Plan, gain: f64, seed: u64) -> (Plan, Vec<TrialRecord>) {
    let of = |plan: &Plan, planned: &PlannedTrial, levels: &Levels| {
        let luck = |of: u64, what: u64| luck(|number| [seed, of, 12 * what + number]);
        let number = planned.lifetime.unwrap_or(planned.trial);
        let nodes = [("1", 0.0), ("2", 1.9_f64.ln()), ("4", (1.9 * (1.0 + gain)).ln())];
        let own = nodes.iter().find(|(nodes, _)| *nodes == levels["nodes"]).unwrap().1;
        let ln = own + 0.02 * luck(number as u64, 1) + 0.025 * luck(planned.trial as u64, 2);
        let place = plan.trials[..planned.trial].iter().filter(|of| of.lifetime == planned.lifetime).count();
        (1000.0 * ln.exp(), Some(LifetimeRecord { number, place, order: vec![planned.condition.clone()] }))
    };
    let ends = |plan: &Plan, records: &[TrialRecord]| settled(study, plan, records);
    run_all(plan, of, |plan, records| {
        let decided = |plan: &Plan, records: &[TrialRecord]| settled_loads(study, plan, records);
        rungs::extended(study, plan, records, ends, decided).or_else(|| looks::extended(study, plan, records, ends))
    })
}

const CLIMBED: &str = "factors.threads=1,2,4,8,16,32,64,128,256,512,1024";
const FIXED: &str = "factors.threads=1,32,1024";

#[test]
fn a_study_of_ladders_ends_early_when_every_step_is_decided() {
    // Cut to a time, with rungs that are chosen as it runs; and with some of the rungs in more time than it takes.
    for (sets, gains) in [
        (["sampling.within_s=10800", "sampling.trials=4", CLIMBED], [(0.3, 4..=5), (0.0, 0..=1)]),
        (["sampling.within_s=10000000", "sampling.trials=7", FIXED], [(0.3, 4..=5), (0.0, 0..=1)]),
    ] {
        let sets = [&sets[..], &["factors.workload=point_select,read_only"]].concat();
        let sets = sets.into_iter().map(str::to_owned).collect();
        let overrides = Overrides { article: true, sets, ..Overrides::default() };
        let text = builtin::find("numa-scaling").unwrap().text;
        let study = parse(Source { origin: "numa-scaling", text }, &overrides).unwrap();
        let machine = Machine::synthetic("package:4 [numa] core:32 pu:1").unwrap();
        let plan = |study: &Study| resolve(study, &machine, Where::Described);
        let whole = plan(&study).unwrap();
        let (study, plan) = within::fit(study, whole, 128, plan).unwrap();
        for (gain, early) in gains {
            let (mut ended, mut wrong) = (0, 0);
            for seed in 0..5 {
                let (plan, records) = climbed(&study, &plan, gain, seed);
                let answer = answered(&study, &plan, &records);
                assert_eq!(answer.ended_early.is_some(), plan.blocks().len() < 7);
                ended += usize::from(answer.ended_early.is_some());
                wrong += usize::from(answer.verdict.is_claim());
            }
            println!("{gain}: {ended} ended early, {wrong} claimed");
            assert!(early.contains(&ended) && wrong <= 1, "{gain}: {ended} ended early, {wrong} claimed");
        }
    }
}
