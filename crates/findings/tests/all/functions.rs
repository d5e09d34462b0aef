//! Functions by their CPU time per transaction: a small function is found even if the whole shows no difference, and
//! none is found if nothing differs.

use crate::draws::Draws;
use crate::made_up::{differ, of_two_sides, profile, trial, worked};
use std::sync::Arc;
use tare_files::Trust;
use tare_findings::why::{NamedChange, Why};
use tare_results::captures::{Captures, FOLDED};
use tare_results::covariate::CLIENTS_TIMED;
use tare_results::schema::ThreadClass;
use tare_results::{Place, Results};

/// Number of functions of the server, and trials per side.
const FUNCTIONS: usize = 200;
const BLOCKS: usize = 16;
/// CPU time of the server and of the function that is made slower, microseconds per transaction.
const SERVER_US: f64 = 600.0;
const SMALL_US: f64 = 10.0;
/// Samples of the server for each microsecond per transaction: 6,000 in all.
const SAMPLES_PER_US: f64 = 10.0;

/// Trials with a transaction time of 1000 us ± 4%. Each function has its share of the server's 600 us, and one of them
/// takes `more_us` longer in B. A trial has as many samples of each as a profile of 1,000 per second has in 10 s of
/// which the server uses 60%, and all its functions are slower or faster together by 3%.
fn made(seed: u64, blocks: usize, more_us: f64) -> Results {
    let mut draws = Draws(seed);
    of_two_sides(blocks, |block, side, name| {
        let more_us = side as f64 * more_us;
        let us = 1000.0 * (1.0 + 0.04 * draws.normal()) + more_us;
        let mut record = trial(2 * block + side, block, name, 1e6 / us, false);
        let each = (SERVER_US - SMALL_US) / (FUNCTIONS - 1) as f64;
        let mut times: Vec<f64> = (1..FUNCTIONS).map(|_| sampled(&mut draws, each)).collect();
        times.push(sampled(&mut draws, SMALL_US + more_us));
        let whole = (SERVER_US + more_us) * (1.0 + 0.03 * draws.normal());
        let all: f64 = times.iter().sum();
        times.iter_mut().for_each(|time| *time *= whole / all);
        let names: Vec<String> = (1..FUNCTIONS).map(|number| format!("function_{number}")).collect();
        let names = names.iter().map(String::as_str).chain(["small"]);
        let profile = profile(&mut record, whole, &names.zip(times).collect::<Vec<_>>());
        record.samples[0].threads = vec![worked(ThreadClass::Client, 100.0 / us)];
        (record, Captures { profile: Some(profile), ..Captures::default() })
    })
}

/// A time as found by samples, whose number has a Poisson distribution.
fn sampled(draws: &mut Draws, us: f64) -> f64 {
    let none = (-us * SAMPLES_PER_US).exp();
    let (mut samples, mut product) = (0.0, draws.uniform());
    while product > none {
        samples += 1.0;
        product *= draws.uniform();
    }
    samples / SAMPLES_PER_US
}

fn compared(seed: u64, more_us: f64) -> Why {
    differ(&made(seed, BLOCKS, more_us))
}

/// Seeds 3000 to 3049.
#[test]
fn the_trials_needed_to_name_three_thousandths_in_one_function() {
    let named = |blocks: usize| {
        let is_named =
            |seed: &u64| differ(&made(*seed, blocks, 3.0)).functions.shown.iter().any(|one| one.name == "small");
        (3000..3050).filter(is_named).count()
    };
    let found = [8, 12, BLOCKS].map(|blocks| (blocks, named(blocks)));
    println!("trials of each side, and studies of 50 that name the function: {found:?}");
    assert!(found[2].1 >= 45, "{found:?}");
    // Fewer trials would be enough if the samples were drawn with less noise than a profile has.
    assert!(found[0].1 <= 25, "{found:?}");
}

#[test]
fn three_thousandths_in_one_function_are_named_although_the_whole_shows_nothing() {
    let found = compared(1001, 3.0);
    assert!(!found.difference.shown && found.causes.iter().all(|cause| !cause.shown), "{:#?}", found.difference);
    let named: Vec<&str> = found.functions.shown.iter().map(|function| function.name.as_str()).collect();
    assert_eq!((named.first(), found.functions.tested), (Some(&"small"), FUNCTIONS), "{named:?}");
    assert!((found.functions.shown[0].us - 3.0).abs() < 1.0, "{:?}", found.functions.shown[0]);
    let smallest = found.functions.not_shown.iter().map(|function| function.smallest_us.unwrap());
    assert!(smallest.clone().count() > 0 && smallest.fold(0.0, f64::max) < SMALL_US, "{:?}", found.functions.not_shown);
}

/// Transactions that still run at the end of a short sample: their statements take three times its length.
#[test]
fn statements_take_no_longer_than_the_transactions() {
    // Statements were counted over 3.75 times the sample, or it is not known how long.
    for (timed, share) in [(Some(3.75), 0.8), (None, 1.0)] {
        let mut draws = Draws(5);
        let found = differ(&of_two_sides(BLOCKS, |block, side, name| {
            let us = 1000.0 * (1 + side) as f64 * (1.0 + 0.01 * draws.normal());
            let mut record = trial(2 * block + side, block, name, 1e6 / us, false);
            let sample = &mut record.samples[0];
            sample.threads = vec![worked(ThreadClass::Client, 100.0 / us)];
            sample.covariates.extend(timed.map(|timed| (CLIENTS_TIMED.to_owned(), timed * sample.elapsed_s)));
            let transactions = 1e6 / us * sample.elapsed_s;
            for (statement, times) in [("read_1", 2.0), ("write_1", 1.0)] {
                sample.metrics.insert(format!("latency_ms_mean_of_{statement}"), times * us / 1000.0);
                sample.covariates.insert(format!("statement_executions_{statement}"), transactions);
            }
            (record, Captures::default())
        }));
        let shown = &found.statements.shown;
        let whole = |us: fn(&NamedChange) -> f64| shown.iter().map(us).sum::<f64>();
        let near = |us: f64, expected: f64| (us / expected - 1.0).abs() < 0.05;
        let is_whole = near(whole(|one| one.a_us), 1000.0 * share) && near(whole(|one| one.b_us), 2000.0 * share);
        assert!(is_whole, "{timed:?}: {shown:?}");
    }
}

/// 3 us of `small` are called by a function that A does not have; its earlier callers, if any, are not the reason.
#[test]
fn a_caller_that_explains_a_slower_function_is_listed_below_it() {
    for before in ["", "main;serve;old_way;small 10\n"] {
        let folder = tempfile::tempdir().unwrap();
        let mut results = made(1001, BLOCKS, 3.0);
        let open = tare_results::folder(folder.path(), Trust::Anyone).unwrap().unwrap();
        let place = Place::of(Arc::new(open));
        for captures in results.captures.values_mut() {
            captures.place = Some(place.clone());
        }
        for record in &mut results.trials {
            let name = format!("{}.folded", record.trial);
            let by_way = if record.condition == "side=b" { "main;serve;new_way;small 3\n" } else { "" };
            let text = format!("main;serve 590\nmain;small_one 1\n{before}{by_way}");
            std::fs::write(folder.path().join(&name), text).unwrap();
            record.captures.insert(FOLDED.to_owned(), name);
        }
        let found = differ(&results);
        let small = &found.functions.shown[0];
        let callers: Vec<&str> = small.callers.iter().map(|one| one.chain.as_str()).collect();
        assert_eq!((small.name.as_str(), callers), ("small", vec!["main;serve;new_way"]), "{small:?}");
        assert!(small.callers[0].a_us == 0.0 && (small.callers[0].b_us - 3.0).abs() < 0.3, "{small:?}");
    }
}

/// Seeds 2000 to 2399: 400 studies of 200 functions without differences. In 5% of studies any function may be named.
#[test]
fn of_functions_that_are_alike_none_is_named_but_in_one_study_of_twenty() {
    let named = (2000..2400).filter(|seed| !compared(*seed, 0.0).functions.shown.is_empty()).count();
    println!("{named} of 400 studies without a difference name a function");
    assert!(named <= 30, "{named} of 400: more than 30 have a chance of 1% at 5%");
}
