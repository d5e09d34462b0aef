//! Searches whose rate is based on too few transactions, or that did not converge.

use crate::made_up::{results, trial};
use tare_findings::summarize;
use tare_results::search::{SearchRecord, Slo, StepRecord};

fn search(beyond: f64, bracket_tps: Option<[f64; 2]>) -> SearchRecord {
    let step = |requested_tps: f64, met: bool| StepRecord {
        requested_tps,
        done_tps: requested_tps,
        value: Some(4.0),
        value_of_prompt_client: None,
        beyond: Some(beyond * requested_tps / 1000.0),
        met,
        limit: None,
        repeated: false,
    };
    SearchRecord {
        search: 0,
        slo: Slo { metric: "latency_ms_p99".into(), limit_ms: 5.0 },
        closed_loop_tps: 2000.0,
        found_tps: Some(1000.0),
        bracket_tps,
        limit: None,
        steps: vec![step(500.0, true), step(1000.0, true), step(2000.0, false)],
    }
}

#[test]
fn a_rate_that_was_found_from_too_few_transactions_or_without_an_end_is_noted() {
    let mut trials: Vec<_> = (0..6).map(|i| trial(i, i / 2, ["at=a", "at=b"][i % 2], 1000.0, false)).collect();
    for (place, trial) in trials.iter_mut().enumerate() {
        let scarce = place == 1 || place == 3;
        trial.searches = vec![search(if scarce { 40.0 } else { 120.0 }, (place == 5).then_some([700.0, 1090.0]))];
    }
    let [notes] = summarize(&results("best", trials)).searches.try_into().unwrap();
    assert_eq!(
        (notes.condition.as_str(), notes.searches, notes.scarce, notes.fewest_beyond),
        ("at=b", 3, 2, Some(40.0))
    );
    assert_eq!((notes.without_end, notes.bracket_tps), (1, Some([700.0, 1090.0])));
}
