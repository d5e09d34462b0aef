//! A condition that takes turns with a partner in each block, with another one in every second block.

use crate::made_up::{results, trial, worked};
use tare_findings::compare::{Options, Side, compare};
use tare_findings::why::why;
use tare_results::Results;
use tare_results::schema::{ThreadClass, TrialRecord, Turns};

const BLOCKS: usize = 14;
const MORE: f64 = 0.02;
/// Throughput of the machine in each block, which all trials of the block share.
const MACHINE: [f64; BLOCKS] = [14.6, 16.1, 15.1, 16.2, 15.9, 14.8, 14.7, 14.2, 15.4, 15.1, 15.2, 14.0, 15.3, 14.8];
/// What the trials of a pair differ in by chance.
const CHANCE: [f64; 5] = [0.001, -0.002, 0.002, -0.001, 0.0];

fn measured(number: usize, block: usize, condition: &str, tps: f64) -> TrialRecord {
    let mut record = trial(number, block, condition, tps, false);
    let sample = &mut record.samples[0];
    sample.started_at = format!("2026-01-01T00:{block:02}:00.{}Z", number % 2);
    sample.metrics.insert("latency_ms_mean".to_owned(), 1e3 / tps);
    sample.threads = vec![worked(ThreadClass::Connection, 0.9), worked(ThreadClass::Client, 0.1)];
    record
}

/// In even blocks `build=old` ran with `build=new`, in odd ones with itself.
fn run() -> Results {
    let of = |block: usize| {
        let other = if block.is_multiple_of(2) { "build=new side=a" } else { "build=old side=b" };
        let slower = if block.is_multiple_of(2) { 1.0 - MORE } else { 1.0 };
        let tps = 1e3 * MACHINE[block];
        let chance = 1.0 + CHANCE[block % CHANCE.len()];
        [
            measured(2 * block, block, "build=old side=a", tps),
            measured(2 * block + 1, block, other, tps * slower * chance),
        ]
    };
    let mut made = results("effect", (0..BLOCKS).flat_map(of).collect());
    made.plan.as_mut().unwrap().turns = Some(Turns { seed: 1 });
    made
}

fn sides(results: &Results) -> [Side<'_>; 2] {
    ["build=old side=a", "build=new side=a"].map(|name| Side { results, condition: Some(name) })
}

#[test]
fn two_conditions_are_compared_by_the_trials_that_took_turns() {
    let results = run();
    let [a, b] = sides(&results);
    let found = compare(a, b, &Options::default()).unwrap();
    let tps = found.metrics.iter().find(|metric| metric.name == "tps").unwrap();
    let ci = tps.ci.unwrap();
    assert!(ci.contains(1.0 - MORE) && ci.width() < 0.01, "{ci:?}");
    assert_eq!((tps.trials_a, tps.trials_b), (7, 7));
    let why = why(a, b).unwrap();
    let ci = why.difference.ci.unwrap();
    assert!(why.paired && ci.low > 0.5 && ci.high < 2.0, "{ci:?} us of 66");
}
