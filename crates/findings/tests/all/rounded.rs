//! Trials that are means of several rounded samples: the digit is that of the samples.

use crate::compared::whole;
use crate::made_up::{results, trial};
use tare_findings::compare::{Options, compare};
use tare_findings::summarize;
use tare_findings::verdict::Verdict;
use tare_results::Results;
use tare_results::schema::TrialRecord;
use tare_stats::ratio;

/// A trial of these samples.
fn sampled(number: usize, block: usize, condition: &str, samples: [f64; 2]) -> TrialRecord {
    let mut record = trial(number, block, condition, samples[0], false);
    record.samples = samples.map(|value| trial(number, block, condition, value, false).samples.remove(0)).into();
    record
}

fn side(samples: [f64; 2]) -> Results {
    results("best", (0..4).map(|i| sampled(i, i, "c", samples)).collect())
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
        let of = |i: usize| sampled(i, i / 2, ["x=off", "x=on"][i % 2], [[0.12, 0.13], b][i % 2]);
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
