//! Pairs from made-up plans and records.

use super::*;
use crate::schema::{PlannedTrial, SampleRecord};

fn rule() -> Settle {
    Settle {
        a: "a".into(),
        b: "b".into(),
        metric: None,
        minimum_effect: 0.02,
        alpha: 0.05,
        rule: Rule::Anytime,
        budget_s: None,
        seed: 1,
        sessions: 1,
        begun: Vec::new(),
        controls: Vec::new(),
        certify: false,
    }
}

/// Blocks of a and b; in odd ones b is first.
fn plan(blocks: usize) -> Plan {
    let text = r#"{"schema":2,"study":"s","seed":1,"conditions":[],"trials":[],"samples":1,"estimated_s":0}"#;
    let mut plan: Plan = serde_json::from_str(text).unwrap();
    for block in 0..blocks {
        let order = if block % 2 == 1 { ["b", "a"] } else { ["a", "b"] };
        for condition in order {
            let trial = plan.trials.len();
            plan.trials.push(PlannedTrial { trial, block, condition: condition.into(), lifetime: None });
        }
    }
    plan
}

fn record(plan: &Plan, trial: usize, tps: f64) -> TrialRecord {
    let sample = SampleRecord {
        sample: 0,
        started_at: String::new(),
        elapsed_s: 1.0,
        metrics: [("tps".to_owned(), tps), ("latency_ms_p99".to_owned(), 1.0)].into(),
        tps_each_second: Vec::new(),
        covariates: BTreeMap::new(),
        histograms: Default::default(),
        threads: Vec::new(),
    };
    TrialRecord {
        elapsed_s: 2.0,
        samples: vec![sample],
        ..TrialRecord::new(&plan.trials[trial], 1, BTreeMap::new(), String::new())
    }
}

#[test]
fn a_pair_is_a_block_and_its_first_the_one_that_ended_first() {
    let plan = plan(3);
    let records: Vec<TrialRecord> = (0..5).map(|trial| record(&plan, trial, 100.0 + trial as f64)).collect();
    let pairs = Pairs::of(&plan, &rule(), &records);
    assert_eq!(pairs.metric.as_deref(), Some("tps"));
    let first = Measured { block: 0, a: 100.0, b: 101.0, b_first: false };
    assert_eq!(pairs.measured, [first, Measured { block: 1, a: 103.0, b: 102.0, b_first: true }]);
    assert_eq!((pairs.ended(), pairs.elapsed_s), (2, 10.0));
}

#[test]
fn failed_and_disturbed_trials_drop_their_pair_and_are_counted() {
    let plan = plan(4);
    let mut records: Vec<TrialRecord> = (0..8).map(|trial| record(&plan, trial, 100.0)).collect();
    records[0].outcome = Outcome::Failed;
    records[2].reason = Some("another process".into());
    records[5].samples[0].metrics.insert("tps".into(), 0.0);
    let pairs = Pairs::of(&plan, &rule(), &records);
    assert_eq!((pairs.measured.len(), pairs.lost, pairs.disturbed), (1, 2, 1));
    // A failed attempt that was made good counts.
    records.push(record(&plan, 0, 100.0));
    assert_eq!(Pairs::of(&plan, &rule(), &records).lost, 1);
}

#[test]
fn it_stops_at_the_budget_and_where_most_pairs_are_left_out() {
    let plan = plan(6);
    let mut records: Vec<TrialRecord> =
        (0..12).map(|trial| record(&plan, trial, if trial % 3 == 0 { 80.0 } else { 120.0 })).collect();
    let stop = |records: &[TrialRecord], rule: &Settle| {
        Pairs::of(&plan, rule, records).decided(rule).and_then(|look| look.stop)
    };
    assert_eq!(stop(&records, &rule()), None);
    assert_eq!(stop(&records, &Settle { budget_s: Some(27.9), ..rule() }), Some(Stop::Budget));
    assert_eq!(stop(&records, &Settle { budget_s: Some(28.1), ..rule() }), None);
    records.iter_mut().for_each(|record| record.outcome = Outcome::Failed);
    assert_eq!(stop(&records, &rule()), Some(Stop::LeftOut));
}
