//! Trials that are means of several rounded samples: the digit is that of the samples.

use crate::compared::whole;
use crate::made_up::{results, trial};
use tare_findings::compare::{Options, compare, compare_sessions};
use tare_findings::summarize;
use tare_findings::verdict::Verdict;
use tare_results::Results;
use tare_results::schema::TrialRecord;
use tare_stats::ratio;

/// A trial of these samples.
fn sampled(number: usize, block: usize, condition: &str, samples: &[f64]) -> TrialRecord {
    let mut record = trial(number, block, condition, samples[0], false);
    let sample = |value: &f64| trial(number, block, condition, *value, false).samples.remove(0);
    record.samples = samples.iter().map(sample).collect();
    record
}

fn side(samples: [f64; 2]) -> Results {
    results("best", (0..4).map(|i| sampled(i, i, "c", &samples)).collect())
}

/// Trials of 0.125 and of 0.13 have three digits, and their samples two.
#[test]
fn trials_of_equal_samples_are_no_certainty_whatever_the_digits_of_their_mean() {
    let compared = |b: [f64; 2]| {
        let (one, other) = (side([0.12, 0.13]), side(b));
        compare(whole(&one), whole(&other), &Options::default()).unwrap().metrics[0].verdict
    };
    assert_eq!(compared([0.13, 0.13]), ratio::Verdict::Inconclusive);
    assert_eq!(compared([0.16, 0.17]), ratio::Verdict::Faster);
    let answered = |question: &str, b: [f64; 2]| {
        let of = |i: usize| sampled(i, i / 2, ["x=off", "x=on"][i % 2], &[[0.12, 0.13], b][i % 2]);
        summarize(&results(question, (0..6).map(of).collect())).answer.verdict
    };
    for question in ["best", "effect"] {
        let shown = |b| matches!(answered(question, b), Verdict::Ranked { .. } | Verdict::Moved { .. });
        assert!(!shown([0.13, 0.13]), "{question}: {:?}", answered(question, [0.13, 0.13]));
        assert!(shown([0.16, 0.17]), "{question}: {:?}", answered(question, [0.16, 0.17]));
    }
}

/// A count is no value that was rounded to thousands.
#[test]
fn equal_whole_numbers_are_equivalent() {
    let (one, other) = (side([1000.0; 2]), side([1000.0; 2]));
    let options = Options { min_effect: 0.01, ..Options::default() };
    let found = compare(whole(&one), whole(&other), &options).unwrap();
    assert_eq!(found.metrics[0].verdict, ratio::Verdict::Equivalent);
}

/// The mean of 0.12, 0.12 and 0.13 has no digit.
const MEANS: [[f64; 3]; 2] = [[0.13, 0.13, 0.12], [0.12, 0.12, 0.13]];

#[test]
fn sessions_of_equal_rounded_trials_are_no_certainty() {
    let compared = |sides: [[f64; 3]; 2], in_trials: bool| {
        let session = |values: &[f64; 3]| match in_trials {
            true => results("best", (0..4).map(|i| sampled(i, i, "c", values)).collect()),
            false => results("best", (0..3).map(|i| sampled(i, i, "c", &values[i..=i])).collect()),
        };
        let runs = sides.map(|values| (0..5).map(|_| session(&values)).collect::<Vec<Results>>());
        let [a, b] = runs.each_ref().map(|side| side.iter().map(whole).collect::<Vec<_>>());
        compare_sessions(&a, &b, &Options::default()).unwrap().metrics[0].verdict
    };
    for in_trials in [false, true] {
        assert_eq!(compared(MEANS, in_trials), ratio::Verdict::Inconclusive, "samples of trials: {in_trials}");
        let apart = [MEANS[0], [0.16, 0.16, 0.17]];
        assert_eq!(compared(apart, in_trials), ratio::Verdict::Faster, "samples of trials: {in_trials}");
    }
}

#[test]
fn a_step_between_equal_rounded_trials_is_no_certain_loss() {
    let gives_less = |last: [f64; 3]| {
        let rungs = [("threads=1", [0.07, 0.07, 0.08]), ("threads=2", MEANS[0]), ("threads=4", last)];
        let of = |i: usize| sampled(i, i / 3, rungs[i % 3].0, &rungs[i % 3].1);
        summarize(&results("scaling", (0..15).map(of).collect())).scaling[0].retrograde
    };
    assert!(!gives_less(MEANS[1]));
    assert!(gives_less([0.09, 0.09, 0.1]));
}
