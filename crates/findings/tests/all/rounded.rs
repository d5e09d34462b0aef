//! Trials that are means of several rounded samples: the digit is that of the samples.

use crate::compared::whole;
use crate::made_up::{differ, of_two_sides, results, trial};
use crate::time::thread;
use tare_findings::compare::{Options, compare, compare_sessions};
use tare_findings::summarize;
use tare_findings::verdict::{Untested, Verdict};
use tare_results::Results;
use tare_results::captures::Captures;
use tare_results::schema::{ThreadClass, TrialRecord};
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

/// A load that prints whole transactions per second; with others all of these times would be certain.
#[test]
fn times_of_equal_rounded_trials_are_no_certain_difference() {
    let differs = |tps: [f64; 2]| {
        let found = differ(&of_two_sides(5, |block, side, name| {
            let mut record = trial(2 * block + side, block, name, tps[side], false);
            record.samples[0].threads =
                vec![thread(ThreadClass::Client, 0.1, 0.1, 0.0), thread(ThreadClass::Connection, 0.3, 0.1, 0.0)];
            (record, Captures::default())
        }));
        let ci = found.difference.ci.unwrap();
        let parts = found.parts.iter().filter(|part| part.shown).count();
        (found.difference.p_value < 0.05, ci.low > 0.0 || ci.high < 0.0, parts > 0)
    };
    assert_eq!(differs([10.0, 11.0]), (false, false, false));
    assert_eq!(differs([10.0, 14.0]), (true, true, true));
    assert_eq!(differs([10.25, 11.25]), (true, true, true));
}

/// Whole numbers in all trials: their mean may be 12.4. A count is exact.
#[test]
fn the_mean_of_equal_rounded_trials_has_an_interval_and_a_count_is_exact() {
    let of = |metric: &str| {
        let mut trials: Vec<TrialRecord> = (0..6).map(|i| sampled(i, i, "x=a", &[12.0])).collect();
        trials.iter_mut().for_each(|trial| trial.samples[0].metrics = [(metric.to_owned(), 12.0)].into());
        summarize(&results("best", trials)).conditions[0].metrics[0].ci.unwrap()
    };
    let measured = of("tps");
    assert!(measured.contains(11.5) && measured.contains(12.5), "{measured:?}");
    assert_eq!(of("errors").width(), 0.0);
}

/// Trials near 4 are all 4, those near 4.5 are 4 or 5, and both vary by a fifth of that.
#[test]
fn rounding_makes_no_condition_look_noisy() {
    let study = |digit: f64| {
        let value = |i: usize| [4.0, 4.5][i % 2] + [-0.2, 0.1, -0.1, 0.2, 0.03, -0.03][i / 2 % 6];
        let of = |i: usize| sampled(i, i / 2, ["x=off", "x=on"][i % 2], &[(value(i) / digit).round() * digit]);
        summarize(&results("spread", (0..48).map(of).collect()))
    };
    let rounded = study(1.0);
    let hidden = Verdict::Untested(Untested::SpreadRounded { metric: "tps".to_owned() });
    assert_eq!((&rounded.answer.verdict, &rounded.spread_sources), (&hidden, &None));
    assert!(rounded.effects.iter().all(|effect| effect.spread_ratio.is_none() && !effect.spread_shown));
    assert!(matches!(study(0.01).answer.verdict, Verdict::SpreadFrom(_)));
}
