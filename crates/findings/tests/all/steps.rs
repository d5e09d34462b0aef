//! The answer on a load that runs in steps: about all of them, not about the one whose name comes first.

use crate::made_up::{results, trial};
use tare_findings::verdict::{MovedAlone, Untested, Verdict};
use tare_findings::{answered, summarize};
use tare_results::Results;
use tare_results::steps::{Figure, step};

/// A run of so many trials of each condition; the second is a tenth faster.
fn verdict(conditions: &[&str], trials: usize) -> Verdict {
    answered(&run(conditions, trials, |_| 1.1)).verdict
}

/// `gain`: how many times as fast the second condition is in a metric.
fn run(conditions: &[&str], trials: usize, gain: fn(&str) -> f64) -> Results {
    let one = |number: usize| {
        let (block, place) = (number / conditions.len(), number % conditions.len());
        let drift = 1.0 + 0.001 * (block % 3) as f64 + 0.000_1 * place as f64 * ((number * 7 % 5) as f64 - 2.0);
        let mut record = trial(number, block, conditions[place], 1.0, false);
        let metrics = [
            ("begin_s_of_qp1000", 30.0),
            ("begin_s_of_l_x", 10.0),
            ("begin_s_of_l_i0", 0.0),
            ("begin_s_of_l_i1", 20.0),
            ("elapsed_s_of_l_i0", 10.0),
            ("rows_per_s_of_l_i0_insert", 90_000.0),
            ("elapsed_s_of_l_x", 10.0),
            ("rows_per_s_of_l_i1_insert", 9_000.0),
            ("rows_per_s_of_l_i1_delete", 9_100.0),
            ("missed_fraction_of_qp1000_insert", 0.0),
            ("queries_per_s_of_qp1000_query", 4_000.0),
        ];
        let measured = |(name, value): (&str, f64)| {
            let speed = drift * if place == 1 { gain(name) } else { 1.0 };
            let value = match step(name).unwrap().0 {
                Figure::RowsPerS | Figure::QueriesPerS => value * speed,
                Figure::ElapsedS => value / speed,
                _ => value,
            };
            (name.to_owned(), value)
        };
        record.samples[0].metrics = metrics.map(measured).into();
        record
    };
    results("effect", (0..trials * conditions.len()).map(one).collect())
}

#[test]
fn the_answer_is_about_all_steps_of_a_load() {
    let Verdict::Untested(Untested::StepsAlone { steps }) = verdict(&["build=a"], 3) else { panic!() };
    let found: Vec<(&str, &str)> = steps.iter().map(|one| (one.step.as_str(), one.unit.name())).collect();
    assert_eq!(found, [("l_i0", "1/s"), ("l_x", "s"), ("l_i1", "1/s"), ("qp1000", "1/s")]);
    let [l_i0, l_x, l_i1, qp1000] = [0, 1, 2, 3].map(|at| steps[at].mean.round());
    assert_eq!([l_i0, l_x, l_i1, qp1000], [90_090.0, 10.0, 9_109.0, 4_004.0]);
    let both = ["build=a", "build=b"];
    let Verdict::Moved { what, .. } = verdict(&both, 5) else { panic!("{:?}", verdict(&both, 5)) };
    assert_eq!((what.metrics, what.steps), (4, Some(3)));
    let single = verdict(&both, 1);
    assert!(matches!(single, Verdict::Untested(Untested::SingleTrial { range: None, .. })), "{single:?}");
}

/// One step is twice as fast and one takes half as long again; the others are the same.
#[test]
fn the_steps_that_move_are_named_and_the_one_that_moves_most_heads_the_tables() {
    let gain = |name: &str| match step(name).unwrap().1 {
        "qp1000" => 2.0,
        "l_x" => 1.0 / 1.5,
        _ => 1.0,
    };
    for question in ["effect", "best"] {
        let mut both = run(&["build=a", "build=b"], 6, gain);
        both.study_toml = Some(format!("question = \"{question}\"\n").into());
        let summary = summarize(&both);
        let moved: Vec<(&str, f64)> = summary.answer.verdict.alone().iter().map(of_second).collect();
        let named = ["queries_per_s_of_qp1000_query", "elapsed_s_of_l_x"];
        assert_eq!(moved.iter().map(|one| one.0).collect::<Vec<_>>(), named, "{question}: {:#?}", summary.answer);
        assert!((moved[0].1 - 2.0).abs() < 0.01 && (moved[1].1 - 1.5).abs() < 0.01, "{moved:?}");
        assert_eq!(summary.headline_metric.as_deref(), Some(named[0]));
    }
    // Without any that moves, the first that ran.
    let alike = summarize(&run(&["build=a", "build=b"], 6, |_| 1.0));
    assert!(alike.answer.verdict.alone().is_empty(), "{:#?}", alike.answer);
    assert_eq!(alike.headline_metric.as_deref(), Some("rows_per_s_of_l_i0_insert"));
}

fn of_second(one: &MovedAlone) -> (&str, f64) {
    (&one.metric, if one.high.ends_with('b') { one.ratio } else { 1.0 / one.ratio })
}
