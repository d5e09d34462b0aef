//! For `benches/within`: compares which simulated effects plans with a time limit show with those that full plans show.
//! Values have the spreads that the forecast assumes, and are analysed by the program itself.

use std::collections::BTreeMap;
use std::error::Error;
use tare::run::{settled, settled_loads};
use tare_drive::workload::TrialSize;
use tare_findings::summarize;
use tare_findings::verdict::Verdict;
use tare_results::Results;
use tare_results::schema::{Levels, LifetimeRecord, Plan, PlannedTrial, Race, SampleRecord, TrialRecord};
use tare_study::language::builtin;
use tare_study::language::document::Source;
use tare_study::language::parse::{Overrides, parse};
use tare_study::language::spec::Study;
use tare_study::language::write::to_toml;
use tare_study::plan::adapt::adapt;
use tare_study::plan::resolve::{Where, resolve};
use tare_study::plan::task::Task;
use tare_study::plan::{estimate, looks, race, rungs, within};
use tare_topology::Machine;

/// Spread between servers, and between samples of one minute on one server, as in the forecast.
const SERVERS: f64 = 0.02;
const SAMPLES: f64 = 0.01;

type Failure = Box<dyn Error>;

/// A published grid, the authors' machine, the time limits, and the simulated effects.
struct Grid {
    study: &'static str,
    machine: &'static str,
    sets: &'static [&'static str],
    hours: &'static [f64],
    planted: &'static [f64],
    /// Mean of ln(throughput) of a condition, with the simulated effect.
    level: fn(&Levels, usize, f64) -> f64,
    /// Additional spread of a condition's trials, with the simulated effect.
    spread: fn(&Levels, f64) -> f64,
    /// Whether the answer names the simulated effect, and whether it names anything else.
    found: fn(&Verdict, &Plan) -> [bool; 2],
}

const GRIDS: [Grid; 4] = [
    Grid {
        study: "numa-scaling",
        machine: "package:4 [numa] core:32 pu:1",
        sets: &["factors.workload=point_select,read_only"],
        hours: &[3.0],
        planted: &[-0.13, -0.08, -0.04, 0.0],
        level: |levels, _, step| {
            let threads: f64 = levels["threads"].parse().unwrap_or(1.0);
            let curve = -0.15 * (threads / 256.0).log2().abs();
            let point = levels["workload"] == "point_select";
            let four = if point { (1.0 + step).ln() } else { 1.2_f64.ln() };
            curve
                + match levels["nodes"].as_str() {
                    "1" => 0.0,
                    "2" => 1.9_f64.ln(),
                    _ => 1.9_f64.ln() + four,
                }
        },
        spread: |_, _| 0.0,
        found: |verdict, _| {
            let Verdict::Steps { pooled, .. } = verdict else { return [false; 2] };
            let is_it = |load: Option<&str>, from: f64| load == Some("point_select") && from == 2.0;
            let mut less = [false; 2];
            for step in pooled.iter().filter(|step| step.over == "nodes" && step.less) {
                less[usize::from(!is_it(step.load.as_deref(), step.from))] = true;
            }
            less
        },
    },
    Grid {
        study: "mind-your-core",
        machine: "package:2 [numa] core:6 pu:2",
        sets: &[],
        // With the longer limit, each condition has a server of its own.
        hours: &[2.0, 5.0],
        planted: &[0.176, 0.11, 0.08, 0.04, 0.021],
        level: |_, place, gain| if place == 3 { (1.0 + gain).ln() } else { 0.0 },
        spread: |_, _| 0.0,
        found: |verdict, plan| {
            let best = plan.conditions.iter().filter(|c| c.realizable).nth(3).map(|c| c.name.as_str());
            let named = match verdict {
                Verdict::Ranked { ranking, .. } => ranking.best_ties.is_empty().then_some(ranking.best.as_str()),
                Verdict::Raced(found) => found.ahead().filter(|_| found.decided).map(|ahead| ahead.name.as_str()),
                _ => None,
            };
            [named.is_some() && named == best, named.is_some() && named != best]
        },
    },
    Grid {
        study: "single-thread-stability",
        machine: "package:2 core:8 pu:1",
        sets: &[],
        hours: &[4.0],
        planted: &[2.9, 2.0, 1.5, 1.0],
        level: |_, _, _| 0.0,
        spread: |levels, times| if levels["aslr"] == "on" { 0.05 * times } else { 0.05 },
        found: |verdict, _| {
            let Verdict::SpreadFrom(from) = verdict else { return [false; 2] };
            let has = |aslr: bool| from.sources.iter().any(|source| (source.factor == "aslr") == aslr);
            [has(true), has(false)]
        },
    },
    Grid {
        study: "no-effect-list",
        machine: "package:2 core:8 pu:1",
        sets: &[],
        hours: &[8.0],
        planted: &[0.1, 0.05, 0.0],
        level: |levels, _, gain| if levels["memory"] == "interleave:all" { (1.0 + gain).ln() } else { 0.0 },
        spread: |_, _| 0.0,
        found: |verdict, _| {
            let Verdict::Moved { first, rest, .. } = verdict else { return [false; 2] };
            let has = |of_memory: bool| {
                let mut moved = std::iter::once(first).chain(rest).map(|moved| moved.term.to_string());
                moved.any(|term| term.contains("memory=interleave:all") == of_memory)
            };
            [has(true), has(false)]
        },
    },
];

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let times: u64 = arguments.first().map_or(Ok(100), |text| text.parse())?;
    let is_wanted = |study: &str, plan: Option<&str>| {
        let is_it = |name: &String| match name.split_once('/') {
            Some((own, of)) => own == study && plan.is_none_or(|plan| plan == of),
            None => name == study,
        };
        arguments.len() < 2 || arguments[1..].iter().any(is_it)
    };
    println!("{times} studies a cell; found: it was named. other: something else was\n");
    println!("{:<24} {:<14} {:>7} {:>7} {:>7} {:>7}", "study", "plan", "planted", "found", "other", "trials");
    for grid in GRIDS.iter().filter(|grid| is_wanted(grid.study, None)) {
        let cpus = Machine::synthetic(grid.machine)?.pus.len();
        for (name, study, plan) in plans(grid)?.into_iter().filter(|(name, ..)| is_wanted(grid.study, Some(name))) {
            for planted in grid.planted {
                let (mut found, mut trials) = ([0; 2], 0);
                for seed in 0..times {
                    let (plan, records) = ran(grid, &study, &plan, *planted, (seed, cpus))?;
                    trials += records.len();
                    let results = Results {
                        study: study.name.clone(),
                        study_toml: Some(to_toml(&study).into()),
                        trials: records,
                        plan: Some(plan.clone()),
                        ..Results::default()
                    };
                    let named = (grid.found)(&summarize(&results).answer.verdict, &plan);
                    found.iter_mut().zip(named).for_each(|(count, named)| *count += u64::from(named));
                }
                let share = |count: u64| format!("{:.0}%", 100.0 * count as f64 / times as f64);
                let mean = trials as f64 / times as f64;
                println!(
                    "{:<24} {name:<14} {planted:>7} {:>7} {:>7} {mean:>7.0}",
                    grid.study,
                    share(found[0]),
                    share(found[1])
                );
            }
        }
    }
    Ok(())
}

/// The full plan, the plan for each time limit, and that plan without decisions while it runs.
fn plans(grid: &Grid) -> Result<Vec<(String, Study, Plan)>, Failure> {
    let machine = Machine::synthetic(grid.machine)?;
    let plan = |study: &Study| resolve(study, &machine, Where::Described);
    let of = |within: Option<String>| -> Result<(Study, Plan), Failure> {
        let sets = grid.sets.iter().map(|set| (*set).to_owned()).chain(within).collect();
        let overrides = Overrides { article: true, sets, ..Overrides::default() };
        let text = builtin::find(grid.study).ok_or("no such study")?.text;
        let mut study = parse(Source { origin: grid.study, text }, &overrides)?;
        adapt(&mut study, &machine, Where::Described)?;
        let whole = plan(&study)?;
        Ok(within::fit(study, whole, machine.pus.len(), plan)?)
    };
    let (study, whole) = of(None)?;
    let mut all = vec![("whole".to_owned(), study, whole)];
    for hours in grid.hours {
        let (study, cut) = of(Some(format!("sampling.within_s={}", 3600.0 * hours)))?;
        let is_raced = cut.race.is_some();
        all.push((format!("{hours} h"), study.clone(), cut));
        if is_raced {
            let fixed = Plan { within: None, ..plan(&study)? };
            all.push((format!("{hours} h, no race"), study, fixed));
        }
    }
    Ok(all)
}

/// Runs every trial of a plan and of its extensions.
fn ran(
    grid: &Grid,
    study: &Study,
    plan: &Plan,
    planted: f64,
    (seed, cpus): (u64, usize),
) -> Result<(Plan, Vec<TrialRecord>), Failure> {
    let mut plan = plan.clone();
    if let Some(rule) = &plan.race {
        let rule = Race { seed, ..rule.clone() };
        plan = race::begun(plan, rule);
    }
    let realizable = plan.conditions.iter().filter(|condition| condition.realizable);
    let places: BTreeMap<String, usize> = realizable.enumerate().map(|(place, c)| (c.name.clone(), place)).collect();
    let mut records: Vec<TrialRecord> = Vec::new();
    loop {
        for planned in &plan.trials[records.len()..] {
            records.push(record(grid, study, &plan, (planned, places[&planned.condition]), planted, (seed, cpus))?);
        }
        let is_settled = |plan: &Plan, records: &[TrialRecord]| settled(study, plan, records);
        let decided = |plan: &Plan, records: &[TrialRecord]| settled_loads(study, plan, records);
        let more = race::extended(&plan, &records)
            .or_else(|| rungs::extended(study, &plan, &records, is_settled, decided))
            .or_else(|| looks::extended(study, &plan, &records, is_settled));
        match more {
            Some(more) => plan = more,
            None => return Ok((plan, records)),
        }
    }
}

fn record(
    grid: &Grid,
    study: &Study,
    plan: &Plan,
    (planned, place): (&PlannedTrial, usize),
    planted: f64,
    (seed, cpus): (u64, usize),
) -> Result<TrialRecord, Failure> {
    let task = Task::find(study, plan, planned.trial)?;
    let levels = task.condition.levels.clone();
    let in_runs = task.condition.settings.workload.load.load().warms_up_in_runs();
    let sample_s = task.sampling.samples as f64 * if in_runs { 60.0 } else { task.sampling.sample_s };
    let luck = |what: u64, of: usize| normal(&[seed, what, of as u64]);
    let server = planned.lifetime.map_or_else(|| luck(1, planned.trial), |lifetime| luck(2, lifetime));
    let own = SAMPLES * (60.0 / sample_s).sqrt() * luck(3, planned.trial);
    let more = (grid.spread)(&levels, planted) * luck(4, planned.trial);
    let ln = (grid.level)(&levels, place, planted) + SERVERS * server + own + more;
    let metrics = [("tps".to_owned(), 10_000.0 * ln.exp())].into();
    let served = plan.trials[..planned.trial].iter().filter(|other| other.lifetime == planned.lifetime);
    let place = if planned.lifetime.is_some() { served.count() } else { 0 };
    let order = vec![planned.condition.clone()];
    let shared = planned.lifetime.map(|number| LifetimeRecord { number, place, order });
    let settings = &task.condition.settings;
    let elapsed_s = match place {
        0 => estimate::trial_on_s(settings, &task.sampling, cpus),
        _ => {
            let mut warm = settings.workload.load.clone();
            warm.load_mut().take_warm();
            warm.load().expected_s(&TrialSize { cpus, ..estimate::counts(settings, &task.sampling) })
        }
    };
    Ok(TrialRecord {
        elapsed_s,
        samples: vec![SampleRecord { elapsed_s: sample_s, metrics, ..SampleRecord::default() }],
        lifetime: shared,
        ..TrialRecord::new(planned, 1, levels, String::new())
    })
}

/// A normally distributed number that depends on the given numbers only (SplitMix64; Box and Muller).
fn normal(numbers: &[u64]) -> f64 {
    let drawn = |last: u64| {
        let mixed = numbers.iter().chain([&last]).fold(0x9e37_79b9_7f4a_7c15_u64, |state, number| {
            let mut z = (state ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        });
        ((mixed >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    };
    (-2.0 * drawn(0).ln()).sqrt() * (std::f64::consts::TAU * drawn(1)).cos()
}
