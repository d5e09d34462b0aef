//! The lines of the benchmark: known causes, twenty comparisons of equal sides, unexplained parts, cost of recording.

use super::cases::{CASES, Case, Size, TWO_CONDITIONS, UPDATE};
use super::made;
use super::rows::Rows;
use crate::studies::why::taken_by_others;
use crate::support::{World, trials};
use serde_json::Value;
use std::ops::RangeInclusive;
use tare_findings::time::{Part, TrialTime};
use tare_results::schema::TrialRecord;

/// Number of comparisons of equal sides, and their engines in turn.
const ALIKE: usize = 20;
const ALIKE_OF: [&str; 4] = ["sqlite", "mariadb", "postgresql", "mysql"];
const THREADS: [u32; 3] = [1, 4, 32];
/// The found size as a multiple of the planted one, and of the whole difference if that is all that is known.
const SIZED: RangeInclusive<f64> = 0.9..=1.1;
const MOST: RangeInclusive<f64> = 0.5..=1.1;
/// Largest relative difference between the sum of the parts and the whole, in every trial.
const CLOSES: f64 = 0.02;
/// Largest unexplained fraction.
const UNEXPLAINED: f64 = 0.1;
/// Largest cost of recording in measured samples, as a fraction.
const COST: f64 = 0.01;

#[test]
#[ignore = "an hour of real servers: benches/why"]
fn every_planted_cause_is_ranked_first_and_equal_sides_have_none() {
    let mut rows = Rows::read();
    for case in &CASES {
        rows.line(case.planted, || planted(case));
    }
    // Comparisons on the same engine share their data.
    let worlds = ALIKE_OF.map(|_| World::new());
    for number in 1..=ALIKE {
        let of = number % ALIKE_OF.len();
        rows.line(&format!("two alike, {number}"), || alike(&worlds[of], ALIKE_OF[of]));
    }
    for engine in ["mariadb", "mysql", "postgresql"] {
        for load in ["point_select", "read_write", "tpcc"] {
            let name =
                format!("not explained: {engine} {load}, {} threads", THREADS.map(|n| n.to_string()).join(" / "));
            rows.line(&name, || not_explained(engine, load));
        }
    }
    for engine in ALIKE_OF {
        rows.line(&format!("cost of what is recorded in measured samples: {engine}"), || cost(engine));
    }
    assert!(rows.wrong.is_empty(), "{:#?}", rows.wrong);
}

fn planted(case: &Case) -> (bool, String) {
    let found = match made::why(&World::new(), case) {
        Ok(found) => found,
        Err(why) => return (false, why),
    };
    let first = &found["causes"][0];
    let of_first = |key: &str| first[key].as_str().unwrap_or("-");
    let whole_us = |side: usize| found["sides"][side]["us_per_transaction"].as_f64().unwrap_or(f64::NAN);
    let us: f64 = named(&found, case).filter_map(|one| one["us"].as_f64()).sum();
    let (expected, within) = match case.size {
        Size::Most => (whole_us(1) - whole_us(0), MOST),
        Size::Us(us) => (us, SIZED),
        Size::OfTime(share) => (share * whole_us(1), SIZED),
        Size::OfDifference(share) => (share * (whole_us(1) - whole_us(0)), SIZED),
        Size::Held(us) => (whole_us(1) - whole_us(0) - us, SIZED),
    };
    let times = us / expected;
    let what = if let Size::Most = case.size { "the difference" } else { "planted" };
    let mut wrong = Vec::new();
    let mut must = |holds: bool, why: &'static str| wrong.extend((!holds).then_some(why));
    must(case.kinds.contains(&of_first("kind")), "another kind");
    must(of_first("name").contains(case.lock), "another lock");
    must(of_first("verdict") == "shown", "not shown");
    must(within.contains(&times), "another size");
    let others: Vec<String> = others(&found, case, us);
    must(others.is_empty(), "others as large");
    let others = if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
    let wrong = if wrong.is_empty() { String::new() } else { format!(", WRONG: {}{others}", wrong.join(", ")) };
    let text = format!(
        "{} {}, {us:.0} us of {expected:.0} {what} ({times:.2}x){wrong}; other programs {:.0}%",
        of_first("kind"),
        of_first("name"),
        100.0 * taken_by_others(&found)
    );
    (wrong.is_empty(), text)
}

/// The first suspect; of a case with several kinds, all that are shown and of these kinds.
fn named<'f>(found: &'f Value, case: &'f Case) -> impl Iterator<Item = &'f Value> {
    let is_one = |one: &Value| one["kind"].as_str().is_some_and(|kind| case.kinds.contains(&kind));
    let causes = found["causes"].as_array().into_iter().flatten().enumerate();
    let counts =
        move |at: usize, one: &Value| at == 0 || case.kinds.len() > 1 && one["verdict"] == "shown" && is_one(one);
    causes.filter(move |(at, one)| counts(*at, one)).map(|(_, one)| one)
}

/// Other suspects that are shown and half as large as the known cause, or larger. Suspects may overlap, but only one
/// thing was changed.
fn others(found: &Value, case: &Case, us: f64) -> Vec<String> {
    let causes = found["causes"].as_array().into_iter().flatten();
    let causes = causes.filter(|one| named(found, case).all(|own| own != *one));
    let large = causes.filter(|one| one["verdict"] == "shown" && one["us"].as_f64().unwrap_or(0.0).abs() >= us / 2.0);
    large
        .map(|one| format!("{} {:.0} us", one["kind"].as_str().unwrap_or("-"), one["us"].as_f64().unwrap_or(0.0)))
        .collect()
}

fn alike(world: &World, engine: &'static str) -> (bool, String) {
    let more = "[factors]\nside = [\"a\", \"b\"]";
    let case = Case { engine, workload: UPDATE, more, sides: ["side=a", "side=b"], ..TWO_CONDITIONS };
    let found = made::why(world, &case);
    // The next comparison uses the same directory.
    let _ = std::fs::remove_dir_all(world.path("results"));
    let found = match found {
        Ok(found) => found,
        Err(why) => return (false, why),
    };
    let causes = found["causes"].as_array().into_iter().flatten();
    let named: Vec<&str> =
        causes.filter(|one| one["verdict"] == "shown").filter_map(|one| one["kind"].as_str()).collect();
    (named.is_empty(), format!("{engine}: named {named:?}; other programs {:.0}%", 100.0 * taken_by_others(&found)))
}

fn not_explained(engine: &str, load: &str) -> (bool, String) {
    let world = World::new();
    let content = if load == "tpcc" { "warehouses = 1" } else { "rows = 1000" };
    let study =
        made::study(engine, &format!("name = \"{load}\"\n{content}"), &format!("[factors]\nthreads = {THREADS:?}"), 2);
    // With 32 threads on one warehouse, a transaction of tpcc takes a fifth of a second.
    let study = study.replace("sample_s = 0.6", "sample_s = 1.2");
    if let Err(why) = made::run(&world, &study, "results", None) {
        return (false, why);
    }
    let results = tare_results::open(&world.path("results")).unwrap();
    let mut off: f64 = 0.0;
    let shares = THREADS.map(|threads| {
        let mut shares = Vec::new();
        let condition = format!("threads={threads}");
        let of_condition = |trial: &&TrialRecord| trial.condition == condition && !trial.samples.is_empty();
        for trial in results.trials.iter().filter(of_condition) {
            let captures = results.captures.get(&(trial.trial, trial.attempt));
            let Some(time) = TrialTime::of(trial, captures) else { continue };
            let tps = trial.values("tps");
            let whole_us = 1e6 * f64::from(threads) / (tps.iter().sum::<f64>() / tps.len() as f64);
            off = off.max((time.parts.values().sum::<f64>() / whole_us - 1.0).abs());
            shares.push(time.part(&Part::NotExplained) / time.us);
        }
        shares.iter().sum::<f64>() / shares.len() as f64
    });
    let right = off <= CLOSES && shares.iter().all(|mean| mean.abs() <= UNEXPLAINED);
    let shares = shares.map(|mean| format!("{:.1}%", 100.0 * mean)).join(" / ");
    (right, format!("not explained {shares}, the sum is off by {:.2}% at most", 100.0 * off))
}

/// CPU time of recording in measured samples, as a fraction of the machine's: the part that is taken from a load that
/// could use all of it. `benches/recording` measures the cost in throughput.
fn cost(engine: &str) -> (bool, String) {
    let world = World::new();
    let study = format!(
        "name = \"cost\"\n[engine]\nname = \"{engine}\"\n[workload]\n{UPDATE}\n[sampling]\ntrials = 2\nattempts = 1\n\
         warmup_s = 0.3\nsample_s = 3\nforeign_cpu_limit = \"off\"\nsteal_limit = \"off\"\n"
    );
    if let Err(why) = made::run(&world, &study, "results", None) {
        return (false, why);
    }
    let cpus = std::thread::available_parallelism().map_or(1.0, |cpus| cpus.get() as f64);
    let trials = trials(&world.path("results"));
    let samples = trials.iter().flat_map(|trial| trial["samples"].as_array().into_iter().flatten());
    let shares = samples.filter_map(|sample| {
        let of = |name: &str| sample["covariates"][name].as_f64();
        Some(of("recording_cpu_s")? / of("elapsed_s")? / cpus)
    });
    let largest = shares.fold(0.0, f64::max);
    (
        largest > 0.0 && largest < COST,
        format!("at most {:.2}% of the machine's CPU time, samples of 3 s", 100.0 * largest),
    )
}
