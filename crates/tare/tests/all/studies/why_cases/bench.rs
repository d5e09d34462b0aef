//! The lines: planted causes, twenty comparisons of two alike, what is not explained, and what recording costs.

use super::cases::{CASES, Case, Other, Size, UPDATE};
use super::made;
use super::rows::Rows;
use crate::studies::why::taken_by_others;
use crate::support::{World, trials};
use tare_findings::time::{Part, TrialTime};

/// Comparisons of two alike, and the engines they are of in turn.
const ALIKE: usize = 20;
const ALIKE_OF: [&str; 4] = ["sqlite", "mariadb", "postgresql", "mysql"];
/// A size is right within this.
const SIZED: f64 = 0.1;
/// Parts add up to the whole within this in every trial.
const CLOSES: f64 = 0.02;
/// What may be left unexplained.
const UNEXPLAINED: f64 = 0.1;
/// Pairs of runs with and without what is recorded in measured samples.
const PAIRS: usize = 8;

#[test]
#[ignore = "an hour of real servers: benches/why"]
fn every_planted_cause_is_named_first_and_nothing_between_two_alike() {
    let mut rows = Rows::read();
    for case in &CASES {
        rows.line(case.planted, || planted(case));
    }
    for number in 1..=ALIKE {
        rows.line(&format!("two alike, {number}"), || alike(ALIKE_OF[number % ALIKE_OF.len()]));
    }
    for engine in ["mariadb", "mysql", "postgresql"] {
        for load in ["point_select", "read_write", "tpcc"] {
            for threads in [1, 4, 32] {
                let name = format!("not explained: {engine} {load} {threads} threads");
                rows.line(&name, || not_explained(engine, load, threads));
            }
        }
    }
    rows.line("cost of what is recorded in measured samples", cost);
    assert!(rows.wrong.is_empty(), "{:#?}", rows.wrong);
}

fn planted(case: &Case) -> (bool, String) {
    let found = match made::why(&World::new(), case) {
        Ok(found) => found,
        Err(why) => return (false, why),
    };
    let first = &found["causes"][0];
    let kind = first["kind"].as_str().unwrap_or("nothing");
    let whole_us = found["sides"][1]["us_per_transaction"].as_f64().unwrap_or(f64::NAN);
    let us = first["us"].as_f64().unwrap_or(f64::NAN);
    let expected = match case.size {
        Size::Unknown => None,
        Size::Us(us) => Some(us),
        Size::OfTime(share) => Some(share * whole_us),
    };
    let size = expected.map_or(String::new(), |expected| {
        let times = us / expected;
        let sized = if (times - 1.0).abs() <= SIZED { "" } else { ", NOT within 10%" };
        format!(" of {expected:.0} planted ({times:.2}x{sized})")
    });
    let verdict = first["verdict"].as_str().unwrap_or("-");
    let text = format!("{kind}, {verdict}, {us:.0} us{size}; other programs {:.0}%", 100.0 * taken_by_others(&found));
    (case.kinds.contains(&kind), text)
}

fn alike(engine: &'static str) -> (bool, String) {
    let more = "[factors]\nside = [\"a\", \"b\"]";
    let case = Case {
        planted: "",
        engine,
        workload: UPDATE,
        more,
        sides: ["side=a", "side=b"],
        kinds: &[],
        size: Size::Unknown,
        other: Other::None,
    };
    let found = match made::why(&World::new(), &case) {
        Ok(found) => found,
        Err(why) => return (false, why),
    };
    let causes = found["causes"].as_array().into_iter().flatten();
    let named: Vec<&str> =
        causes.filter(|one| one["verdict"] == "shown").filter_map(|one| one["kind"].as_str()).collect();
    (named.is_empty(), format!("{engine}: named {named:?}; other programs {:.0}%", 100.0 * taken_by_others(&found)))
}

fn not_explained(engine: &str, load: &str, threads: u32) -> (bool, String) {
    let world = World::new();
    let content = if load == "tpcc" { "warehouses = 1" } else { "rows = 1000" };
    let workload = format!("name = \"{load}\"\n{content}\nthreads = {threads}");
    if let Err(why) = made::run(&world, &made::study(engine, &workload, "", 3), "results", None) {
        return (false, why);
    }
    let results = tare_results::open(&world.path("results")).unwrap();
    let mut shares = Vec::new();
    let mut off: f64 = 0.0;
    for trial in results.trials.iter().filter(|trial| !trial.samples.is_empty()) {
        let captures = results.captures.get(&(trial.trial, trial.attempt));
        let Some(time) = TrialTime::of(trial, captures) else { continue };
        let tps = trial.values("tps");
        let whole_us = 1e6 * f64::from(threads) / (tps.iter().sum::<f64>() / tps.len() as f64);
        off = off.max((time.parts.values().sum::<f64>() / whole_us - 1.0).abs());
        shares.push(time.part(&Part::NotExplained) / time.us);
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    let right = off <= CLOSES && mean.abs() <= UNEXPLAINED;
    (right, format!("not explained {:.1}%, the sum is off by {:.2}% at most", 100.0 * mean, 100.0 * off))
}

/// Throughput with `capture.schedule` against without it, pair by pair; the interval of the mean ratio.
fn cost() -> (bool, String) {
    let mut ratios = Vec::new();
    for pair in 0..PAIRS {
        let order = if pair % 2 == 0 { ["on", "off"] } else { ["off", "on"] };
        let measured = order.map(|schedule| {
            let world = World::new();
            let study = format!(
                "name = \"cost\"\n[workload]\nname = \"point_select\"\nrows = 1000\nthreads = 2\n[capture]\n\
                 schedule = \"{schedule}\"\n[sampling]\ntrials = 1\nattempts = 1\nwarmup_s = 0.3\nsample_s = 3\n\
                 foreign_cpu_limit = \"off\"\nsteal_limit = \"off\"\n"
            );
            made::run(&world, &study, "results", None)?;
            let tps = trials(&world.path("results"))[0]["samples"][0]["metrics"]["tps"].as_f64();
            tps.map(|tps| (schedule, tps)).ok_or("no throughput".to_owned())
        });
        let of =
            |wanted: &str| measured.iter().flatten().find(|(schedule, _)| *schedule == wanted).map(|(_, tps)| *tps);
        match of("on").zip(of("off")) {
            Some((on, off)) => ratios.push((on / off).ln()),
            None => return (false, format!("{measured:?}")),
        }
    }
    let interval = tare_stats::trials::mean_interval(&ratios, 0.95);
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    let percent = |log: f64| 100.0 * (log.exp() - 1.0);
    let shown = interval.map_or("-".to_owned(), |i| format!("{:+.2}% to {:+.2}%", percent(i.low), percent(i.high)));
    // Refuted only where the whole interval is a cost of 1% or more.
    let refuted = interval.is_some_and(|i| percent(i.high) < -1.0);
    (!refuted, format!("throughput {:+.2}% ({shown}, {PAIRS} pairs)", percent(mean)))
}
