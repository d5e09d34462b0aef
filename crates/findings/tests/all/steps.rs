//! The answer on a load that runs in steps: about all of them, not about the one whose name comes first.

use crate::made_up::{results, trial};
use tare_findings::answered;
use tare_findings::verdict::{Untested, Verdict};

/// A run of so many trials of each condition; the second is a tenth faster.
fn verdict(conditions: &[&str], trials: usize) -> Verdict {
    let one = |number: usize| {
        let (block, place) = (number / conditions.len(), number % conditions.len());
        let speed = (1.0 + 0.1 * place as f64) * (1.0 + 0.001 * (block % 3) as f64);
        let mut record = trial(number, block, conditions[place], 1.0, false);
        let metrics = [
            ("begin_s_of_qp1000", 30.0),
            ("begin_s_of_l_x", 10.0),
            ("begin_s_of_l_i0", 0.0),
            ("begin_s_of_l_i1", 20.0),
            ("elapsed_s_of_l_i0", 10.0 / speed),
            ("rows_per_s_of_l_i0_insert", 90_000.0 * speed),
            ("elapsed_s_of_l_x", 10.0 / speed),
            ("rows_per_s_of_l_i1_insert", 9_000.0 * speed),
            ("rows_per_s_of_l_i1_delete", 9_100.0 * speed),
            ("missed_fraction_of_qp1000_insert", 0.0),
            ("queries_per_s_of_qp1000_query", 4_000.0 * speed),
        ];
        record.samples[0].metrics = metrics.map(|(name, value)| (name.to_owned(), value)).into();
        record
    };
    answered(&results("effect", (0..trials * conditions.len()).map(one).collect())).verdict
}

#[test]
fn the_answer_is_about_all_steps_of_a_load() {
    let Verdict::Untested(Untested::StepsAlone { steps }) = verdict(&["build=a"], 3) else { panic!() };
    let found: Vec<(&str, &str)> = steps.iter().map(|one| (one.step.as_str(), one.unit)).collect();
    assert_eq!(found, [("l_i0", "1/s"), ("l_x", "s"), ("l_i1", "1/s"), ("qp1000", "1/s")]);
    let [l_i0, l_x, l_i1, qp1000] = [0, 1, 2, 3].map(|at| steps[at].mean.round());
    assert_eq!([l_i0, l_x, l_i1, qp1000], [90_090.0, 10.0, 9_109.0, 4_004.0]);
    let both = ["build=a", "build=b"];
    let Verdict::Moved { what, .. } = verdict(&both, 5) else { panic!("{:?}", verdict(&both, 5)) };
    assert_eq!((what.metrics, what.steps), (4, Some(3)));
    let single = verdict(&both, 1);
    assert!(matches!(single, Verdict::Untested(Untested::SingleTrial { range: None, .. })), "{single:?}");
}
