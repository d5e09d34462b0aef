//! Plans of published grids, cut to a time, on described machines.

use super::*;
use crate::language::builtin;
use crate::language::document::Source;
use crate::language::parse::{Overrides, parse};
use crate::plan::resolve::{Where, resolve};
use tare_results::levels_of;
use tare_results::looks::{Look, ended_loads};
use tare_results::schema::{Levels, LifetimeRecord, PlannedTrial, SampleRecord, TrialRecord};
use tare_topology::Machine;

fn cut(name: &str, on: &str, sets: &[&str]) -> Result<(Study, Plan), TooShort> {
    let overrides =
        Overrides { article: true, sets: sets.iter().map(|set| (*set).to_owned()).collect(), ..Overrides::default() };
    let study = parse(Source { origin: name, text: builtin::find(name).unwrap().text }, &overrides).unwrap();
    let machine = Machine::synthetic(on).unwrap();
    let plan = |study: &Study| resolve(study, &machine, Where::Described);
    let whole = plan(&study).unwrap();
    fit(study, whole, machine.pus.len(), plan)
}

const D: &str = "package:4 [numa] core:32 pu:1";

#[test]
fn an_articles_grid_fits_its_hours_and_says_what_was_cut() {
    let read_only = "factors.workload=point_select,read_only";
    let (study, plan) = cut("numa-scaling", D, &[read_only, "sampling.within_s=10800"]).unwrap();
    let within = plan.within.as_ref().unwrap();
    assert!(plan.estimated_s <= 10_800.0 && within.whole_s > 250_000.0, "{within:?}");
    assert_eq!((within.whole_trials, within.requested_s), (528, 10_800.0));
    assert_eq!(study.design.ladder.as_deref(), Some("workload,distribution,threads"));
    // The nodes, which the question is about, stay; the rungs begin with the two ends of every ladder and its middle.
    assert_eq!((within.levels.len(), plan.trials_in_all()), (0, 252), "{within:?}");
    assert_eq!(within.rungs, Some(Rungs { factor: "threads".into(), at_once: 3, blocks: 7 }));
    assert_eq!(rungs_of(&plan, 0), [1, 32, 1024]);
    // Every block contains every remaining condition, on one server for each number of nodes.
    assert_eq!((plan.blocks().len(), plan.trials.len(), study.sampling.trials), (2, 2 * 36, 7));
    let servers: BTreeSet<_> = plan.trials.iter().map(|trial| trial.lifetime).collect();
    assert_eq!(servers.len(), 3 * 2);
    assert!(plan.notes[0].contains("; 7 blocks instead of 4; "), "{:?}", plan.notes);
    assert!(plan.notes[1].contains("this shows a step of"), "{:?}", plan.notes);
}

fn rungs_of(plan: &Plan, block: usize) -> Vec<u64> {
    let of = |name: &str| plan.conditions.iter().find(|c| c.name == name).unwrap().levels["threads"].parse().unwrap();
    let trials = plan.trials.iter().filter(|trial| trial.block == block);
    trials.map(|trial| of(&trial.condition)).collect::<BTreeSet<u64>>().into_iter().collect()
}

/// Records of all trials of a plan, with values that depend on a condition's levels.
fn measured(plan: &Plan, value: impl Fn(usize, &Levels) -> f64) -> Vec<TrialRecord> {
    let record = |planned: &PlannedTrial| {
        let levels = &plan.conditions.iter().find(|c| c.name == planned.condition).unwrap().levels;
        let metrics = [("tps".to_owned(), value(planned.trial, levels))].into();
        let samples = vec![SampleRecord { metrics, ..SampleRecord::default() }];
        let served = plan.trials[..planned.trial].iter().filter(|other| other.lifetime == planned.lifetime).count();
        let order = vec![planned.condition.clone()];
        let lifetime = planned.lifetime.map(|number| LifetimeRecord { number, place: served, order });
        TrialRecord { samples, lifetime, ..TrialRecord::new(planned, 1, levels.clone(), String::new()) }
    };
    plan.trials.iter().map(record).collect()
}

#[test]
fn a_cut_ladder_is_climbed_towards_its_peak_until_its_question_is_settled() {
    let (study, plan) =
        cut("numa-scaling", D, &["factors.workload=point_select,read_only", "sampling.within_s=10800"]).unwrap();
    ends_at_a_look(&study, &plan);
    let rungs: Vec<u64> = (0..11).map(|power| 1 << power).collect();
    for peak in &rungs {
        // Falls by a tenth with every doubling away from the peak; trials vary by 3%.
        let value = |trial: usize, levels: &Levels| {
            let threads: f64 = levels["threads"].parse().unwrap();
            let luck = 1.0 + 0.03 * ((trial * 7919 % 101) as f64 / 50.0 - 1.0);
            1e5 * luck * (-0.1 * (threads / *peak as f64).log2().abs()).exp()
        };
        let mut plan = plan.clone();
        while let Some(more) = rungs::extended(&study, &plan, &measured(&plan, value), |_, _| false, none) {
            assert!(more.trials.starts_with(&plan.trials) && more.trials.len() > plan.trials.len());
            plan = more;
        }
        assert_eq!((plan.blocks().len(), plan.trials.len()), (7, 252));
        assert!(plan.blocks().values().all(|trials| trials.len() == 36));
        assert!(plan.trials.iter().enumerate().all(|(place, trial)| trial.trial == place));
        let servers: BTreeSet<_> = plan.trials.iter().map(|trial| trial.lifetime).collect();
        assert_eq!(servers.len(), 3 * 7);
        let place = rungs.iter().position(|rung| rung == peak).unwrap();
        let seen: BTreeSet<u64> = (0..7).flat_map(|block| rungs_of(&plan, block)).collect();
        let near = rungs.iter().filter(|rung| seen.contains(rung)).map(|rung| rungs.iter().position(|r| r == rung));
        let nearest = near.flatten().map(|rung| rung.abs_diff(place)).min().unwrap();
        assert!(nearest <= 1, "{peak}: {seen:?}");
    }
}

fn none(_: &Plan, _: &[TrialRecord]) -> BTreeSet<String> {
    BTreeSet::new()
}

#[test]
fn a_load_that_a_look_decides_is_measured_no_further() {
    let (study, mut plan) =
        cut("numa-scaling", D, &["factors.workload=point_select,read_only", "sampling.within_s=10800"]).unwrap();
    let decided = |_: &Plan, _: &[TrialRecord]| BTreeSet::from(["read_only".to_owned()]);
    let flat = |_: usize, _: &Levels| 1.0;
    while let Some(more) = rungs::extended(&study, &plan, &measured(&plan, flat), |_, _| false, decided) {
        plan = more;
    }
    let ended = BTreeMap::from([("read_only".to_owned(), 4)]);
    assert_eq!((ended_loads(&plan), plan.blocks().len(), plan.trials.len()), (ended, 7, 4 * 36 + 3 * 18));
    let look = Look::of(&plan, &measured(&plan, flat)).unwrap();
    assert!(look.is_last && look.share_after(7) > 0.8 && look.share_after(4) < 0.06, "{look:?}");
    // With every load decided there is no further block.
    let all = |_: &Plan, _: &[TrialRecord]| ["read_only", "point_select"].map(str::to_owned).into();
    let (_, mut plan) =
        cut("numa-scaling", D, &["factors.workload=point_select,read_only", "sampling.within_s=10800"]).unwrap();
    while let Some(more) = rungs::extended(&study, &plan, &measured(&plan, flat), |_, _| false, all) {
        plan = more;
    }
    assert_eq!((plan.blocks().len(), ended_loads(&plan)), (4, BTreeMap::new()));
}

/// A study of seven blocks whose question is settled from the beginning.
fn ends_at_a_look(study: &Study, plan: &Plan) {
    assert!(plan.notes.iter().any(|note| note.ends_with("checked after block 4, 7")), "{:?}", plan.notes);
    let flat = |_: usize, _: &Levels| 1.0;
    // There is no look after two blocks.
    let grown = rungs::extended(study, plan, &measured(plan, flat), |_, _| true, none).unwrap();
    let look = Look::of(&grown, &[]).unwrap();
    assert_eq!((grown.blocks().len(), look.number, look.of, look.is_last), (4, 1, 3, false));
    assert_eq!(rungs::extended(study, &grown, &measured(&grown, flat), |_, _| true, none), None);
    // It is not extended by blocks of fixed rungs instead.
    assert_eq!(looks::extended(study, &grown, &[], |_, _| false), None);
}

#[test]
fn conditions_that_share_servers_are_raced_where_the_time_is_too_short_for_one_each() {
    let (_, plan) = cut("mind-your-core", "package:2 [numa] core:6 pu:2", &["sampling.within_s=7200"]).unwrap();
    let all = plan.conditions.iter().filter(|c| c.realizable).count();
    let servers = |plan: &Plan, block: usize| {
        let own: Vec<_> = plan.trials.iter().filter(|trial| trial.block == block).map(|trial| trial.lifetime).collect();
        assert!(own.iter().all(Option::is_some));
        own.into_iter().collect::<BTreeSet<_>>().len()
    };
    assert!(plan.race.is_some() && plan.trials.len() == all && servers(&plan, 0) < all / 2, "{:?}", plan.notes);
    // The server of most conditions has the good ones; the others' servers are no longer started.
    let largest = plan.trials.chunk_by(|a, b| a.lifetime == b.lifetime).max_by_key(|own| own.len()).unwrap();
    let good: BTreeSet<&str> = largest.iter().map(|trial| trial.condition.as_str()).collect();
    let mut raced = plan.clone();
    loop {
        let mut records = measured(&raced, |trial, _| 1.0 + 0.02 * (trial * 7919 % 101) as f64 / 101.0);
        for record in records.iter_mut().filter(|record| good.contains(record.condition.as_str())) {
            record.samples[0].metrics.entry("tps".to_owned()).and_modify(|tps| *tps *= 1.3);
        }
        match race::extended(&raced, &records) {
            Some(more) => raced = more,
            None => break,
        }
    }
    let last = raced.blocks().len() - 1;
    assert!(last > 1 && servers(&raced, last) == 1, "{} of {}", servers(&raced, last), servers(&raced, 0));
    assert!(
        raced.trials.chunk_by(|a, b| a.lifetime == b.lifetime).count() == {
            let all: BTreeSet<_> = raced.trials.iter().map(|trial| trial.lifetime).collect();
            all.len()
        }
    );
}

#[test]
fn a_warm_up_that_no_condition_has_is_not_listed() {
    let sets = ["factors.option.innodb_adaptive_hash_index=OFF", "sampling.within_s=7200"];
    let (_, plan) = cut("single-thread-stability", "package:2 core:8 pu:1", &sets).unwrap();
    let notes = plan.notes.join("\n");
    assert!(notes.contains("innodb_adaptive_hash_index=OFF") && !notes.contains("hash_index=ON"), "{notes}");
}

#[test]
fn the_best_of_a_cut_study_is_found_by_a_race() {
    let (study, plan) = cut("mind-your-core", "package:2 [numa] core:6 pu:2", &["sampling.within_s=18000"]).unwrap();
    let race = plan.race.as_ref().unwrap();
    let realizable: Vec<&str> = plan.conditions.iter().filter(|c| c.realizable).map(|c| c.name.as_str()).collect();
    assert_eq!((race.candidates.len(), plan.trials.len()), (realizable.len(), realizable.len()));
    assert!(race.budget_s.unwrap() < 18_000.0 && plan.notes.iter().any(|note| note.starts_with("a race")));
    assert_eq!((plan.resumed_by(), Plan { within: None, ..plan.clone() }.resumed_by()), ("run", "find"));
    // As of every race, its expected time is that of one block; the time has several.
    assert!(plan.rounds_s(study.sampling.trials) <= 18_000.0 && study.sampling.trials > 1, "{}", plan.estimated_s);
    // One condition in three is worth racing further.
    let worth = |levels: &Levels| {
        if realizable.iter().position(|name| levels_of(name) == *levels).unwrap() % 3 == 0 { 1.2 } else { 1.0 }
    };
    let value = |trial: usize, levels: &Levels| worth(levels) * (1.0 + 0.04 * (trial * 7919 % 101) as f64 / 101.0);
    let mut raced = plan.clone();
    while let Some(more) = race::extended(&raced, &measured(&raced, value)) {
        raced = more;
    }
    let blocks = raced.blocks();
    let last = blocks.last_key_value().unwrap().1;
    assert!(last.len() < realizable.len() / 2, "{} of {}", last.len(), realizable.len());
    // The question which factor changes throughput needs all conditions.
    let other = Study { question: Some(Question::Effect), ..study };
    assert_eq!(race::of_question(&other, plan.clone(), 1.0), plan);
}

/// A built-in study as it is, cut on a small machine.
fn small(name: &str, sets: &[&str]) -> Result<(Study, Plan), TooShort> {
    let sets = sets.iter().map(|set| (*set).to_owned()).collect();
    let overrides = Overrides { sets, ..Overrides::default() };
    let study = parse(Source { origin: name, text: builtin::find(name).unwrap().text }, &overrides).unwrap();
    let machine = Machine::synthetic("core:2 pu:1").unwrap();
    let plan = |study: &Study| resolve(study, &machine, Where::Described);
    let whole = plan(&study).unwrap();
    fit(study, whole, machine.pus.len(), plan)
}

#[test]
fn a_pilot_gets_the_time_as_its_budget() {
    let precise = "sampling.target_half_width=0.01";
    let (study, plan) = small("side-by-side", &[precise, "sampling.within_s=60"]).unwrap();
    assert!(study.sampling.budget_s < 60.0 && plan.estimated_s <= 60.0, "{} {}", plan.estimated_s, plan.data_s);
    let short = small("side-by-side", &[precise, "sampling.within_s=5"]).unwrap_err();
    assert!(matches!(short, TooShort::Least { least_s, .. } if least_s < 60.0), "{short}");
}

#[test]
fn nothing_is_said_about_differences_of_a_single_condition() {
    for within in ["sampling.within_s=10", "sampling.within_s=12"] {
        let (_, plan) = small("side-by-side", &[within]).unwrap();
        assert!(plan.within.is_some() && plan.notes.len() == 1, "{:?}", plan.notes);
    }
}

#[test]
fn conditions_of_several_loads_are_not_raced() {
    let of = |name: &str, sets: &[&str]| small(name, sets).unwrap().1;
    // Two clients have about twice the throughput of one, which says nothing about placements.
    let plan = of("first-look", &["sampling.within_s=30"]);
    assert!(plan.within.is_some() && plan.race.is_none(), "{:?}", plan.notes);
    assert!(of("tpcc", &["sampling.within_s=180"]).race.is_some());
    let loads = ["sampling.within_s=180", "factors.workload=tpcc,point_select"];
    assert!(of("tpcc", &loads).race.is_none());
}

#[test]
fn a_study_that_fits_is_not_cut_and_one_that_cannot_fit_is_refused() {
    let one = ["factors.workload=point_select", "factors.distribution=uniform", "factors.threads=64"];
    let (study, plan) = cut("numa-scaling", D, &[&one[..], &["sampling.within_s=86400"]].concat()).unwrap();
    assert_eq!((study.sampling.trials, plan.trials.len(), &study.design.ladder), (4, 12, &None));
    assert!(plan.within.unwrap().levels.is_empty());
    // With more blocks it ends at the first look that settles its question.
    let longer = ["sampling.within_s=1000000", "sampling.trials=7"];
    let (study, plan) = cut("numa-scaling", D, &[&one[..], &longer].concat()).unwrap();
    assert_eq!((plan.blocks().len(), plan.trials.len(), plan.trials_in_all()), (4, 12, 21));
    assert!(plan.notes.iter().any(|note| note.ends_with("checked after block 4, 6, 7")), "{:?}", plan.notes);
    assert_eq!(looks::extended(&study, &plan, &[], |_, _| true), None);
    assert_eq!(looks::extended(&study, &plan, &[], |_, _| false).unwrap().blocks().len(), 6);
    let seconds = cut("numa-scaling", D, &[&one[..], &["sampling.within_s=10"]].concat()).unwrap_err();
    assert!(seconds.to_string().ends_with("but the limit is 10 s"), "{seconds}");
    let short = cut("numa-scaling", D, &["sampling.within_s=1200"]).unwrap_err();
    assert!(short.to_string().contains("for the data), but the limit is 20 min"), "{short}");
}

/// Builds are named by their differences, while the study's own conditions have the paths as names.
#[test]
fn builds_by_loads_are_cut_to_a_time_and_each_load_is_a_comparison() {
    let set = ["engine.name=mariadb", "factors.binary=/opt/before/mariadbd,/opt/after/mariadbd"];
    let overrides = |within: &str| Overrides {
        sets: set.into_iter().chain([within]).map(str::to_owned).collect(),
        ..Overrides::default()
    };
    let machine = Machine::synthetic(D).unwrap();
    let plan = |study: &Study| resolve(study, &machine, Where::Described);
    let text = builtin::find("microbenchmarks").unwrap().text;
    let study = parse(Source { origin: "x", text }, &overrides("sampling.within_s=600")).unwrap();
    let whole = plan(&study).unwrap();
    assert!(whole.estimated_s > 900.0 && whole.conditions[0].name.contains("binary=before"), "{whole:?}");
    let (cut, made) = fit(study, whole, machine.pus.len(), plan).unwrap();
    assert!(made.estimated_s <= 600.0 && cut.sampling.trials < 5, "{}", made.estimated_s);
    assert_eq!(made.conditions.iter().filter(|condition| condition.realizable).count(), 68);
    let shown = made.notes.iter().find(|note| note.contains("this shows")).unwrap();
    assert!(shown.contains("a difference of ") && !shown.contains("inf"), "{shown}");
}

#[test]
fn the_ends_of_a_ladder_come_first_and_then_the_middles() {
    assert_eq!(first_rungs(11, 3), [0, 5, 10]);
    assert_eq!(first_rungs(11, 5), [0, 3, 5, 8, 10]);
    assert_eq!(first_rungs(3, 5), [0, 1, 2]);
}

#[test]
fn warming_up_that_is_enough_buys_restarts_of_a_study_of_spread() {
    let (study, plan) = cut("single-thread-stability", "package:2 core:8 pu:1", &["sampling.within_s=14400"]).unwrap();
    let (samples, trials) = (study.sampling.samples, study.sampling.trials);
    assert!(samples == 1 && trials >= 7 && plan.estimated_s <= 14_400.0, "{trials} of {samples}");
    for condition in &plan.conditions {
        let hash_index = &condition.levels["option.innodb_adaptive_hash_index"];
        let enough = if hash_index == "ON" { "8" } else { "1" };
        assert_eq!(condition.settings["workload.warmup_runs"].to_string(), enough, "{}", condition.name);
    }
    assert!(plan.notes[0].contains("at most 1 run of warm-up with option.innodb_adaptive_hash_index=OFF"));
    // A shorter warm-up stays, and the uncut study warms up as it says.
    let sets = ["workload.warmup_runs=5", "sampling.within_s=14400"];
    let (_, plan) = cut("single-thread-stability", "package:2 core:8 pu:1", &sets).unwrap();
    assert!(plan.conditions.iter().all(|c| ["5", "1"].contains(&&*c.settings["workload.warmup_runs"].to_string())));
    let (_, whole) = cut("single-thread-stability", "package:2 core:8 pu:1", &["sampling.within_s=86400"]).unwrap();
    assert!(whole.conditions.iter().all(|c| c.settings["workload.warmup_runs"].to_string() == "10"));
    assert_eq!((whole.within.as_ref().unwrap().blocks, whole.blocks().len()), (Some(10), 4));
}

#[test]
fn a_cut_study_grows_from_look_to_look_until_it_is_settled() {
    let (study, plan) = cut("single-thread-stability", "package:2 core:8 pu:1", &["sampling.within_s=14400"]).unwrap();
    let all = plan.within.as_ref().unwrap().blocks.unwrap();
    let whole = resolve::scheduled(&study, &plan.conditions);
    assert_eq!((plan.blocks().len(), plan.trials_in_all()), (4, whole.len()));
    assert_eq!(looks::extended(&study, &plan, &[], |_, _| true), None);
    let mut grown = plan;
    while let Some(more) = looks::extended(&study, &grown, &[], |_, _| false) {
        assert!(more.trials.starts_with(&grown.trials) && more.blocks().len() > grown.blocks().len());
        grown = more;
    }
    assert_eq!((grown.blocks().len(), grown.trials), (all, whole));
}
