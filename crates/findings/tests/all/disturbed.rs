//! What becomes of an answer without the disturbed trials: each is made from its own trials, and they are the same only
//! where they claim the same of the same conditions.

use crate::made_up::{results, trial};
use tare_findings::summarize;

/// Ten blocks, with the throughput of a condition in a clean trial, and in a disturbed one: those of the first half of
/// the blocks, where there is another number.
fn line(question: &str, conditions: &[(&str, f64, f64)]) -> String {
    let mut trials = Vec::new();
    for block in 0..10 {
        for (condition, clean, disturbed) in conditions {
            let is_disturbed = block < 5 && clean != disturbed;
            let tps = if is_disturbed { *disturbed } else { *clean };
            // Trials differ by a little, and no two blocks are alike.
            let luck = 1.0 + 0.001 * ((7 * trials.len()) % 11) as f64;
            trials.push(trial(trials.len(), block, condition, tps * luck, is_disturbed));
        }
    }
    summarize(&results(question, trials)).answer.text
}

#[test]
fn figures_without_disturbed_trials_are_of_the_trials_that_are_left() {
    let line = line("best", &[("placement=a", 100_000.0, 5_000.0), ("placement=b", 50_000.0, 50_000.0)]);
    let (with, without) = line.split_once(" Without them ").unwrap();
    assert!(with.starts_with("5 of 20 trials were disturbed, and they decide: with them no difference"), "{line}");
    assert!(with.contains("from 50.3 k/s at placement=b to 52.8 k/s at placement=a"), "{line}");
    assert!(without.starts_with("placement alone moved throughput 2.0x"), "{line}");
    assert!(without.contains(": from 50.3 k/s at placement=b to 101 k/s at placement=a;"), "{line}");
}

#[test]
fn conditions_whose_names_differ_by_a_digit_are_other_conditions() {
    let line = line("best", &[("slot=1", 100.0, 50.0), ("slot=2", 80.0, 120.0), ("slot=3", 10.0, 10.0)]);
    assert!(line.contains(", and they decide: with them slot alone"), "{line}");
    let (with, without) = line.split_once(" Without them ").unwrap();
    assert!(with.contains("the best is slot=2") && without.contains("the best is slot=1"), "{line}");
}

#[test]
fn a_factor_that_moves_the_other_way_is_another_claim() {
    let line = line(
        "effect",
        &[
            ("a=off b=off", 100.0, 100.0),
            ("a=on b=off", 120.0, 10.0),
            ("a=off b=on", 100.0, 100.0),
            ("a=on b=on", 120.0, 10.0),
        ],
    );
    assert!(line.contains("they decide: with them") && line.contains("1.20x"), "{line}");
}

#[test]
fn a_claim_that_holds_without_them_comes_out_the_same_although_figures_differ() {
    let line = line("best", &[("placement=a", 100.0, 95.0), ("placement=b", 50.0, 50.0)]);
    assert!(line.starts_with("5 of 20 trials were disturbed; without them it comes out the same."), "{line}");
}
