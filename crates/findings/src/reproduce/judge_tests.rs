//! Tests of verdicts on synthetic figures.

use super::super::model::Again;
use super::*;
use tare_results::claim::{Claim, Published};
use tare_results::schema::{Levels, PlannedTrial, SampleRecord, TrialRecord};

fn claim(from: f64, to: f64) -> Claim {
    Claim {
        name: "far-client".into(),
        text: "A client on the other node costs 14%.".into(),
        source: "made up".into(),
        published: Published::Ratio(0.86),
        measure: Measure::Ratio,
        metric: Some("tps".into()),
        a: Levels::from([("client".into(), "near".into())]),
        b: Some(Levels::from([("client".into(), "far".into())])),
        holds: Band { from, to },
    }
}

fn figure(value: f64, low: f64, high: f64) -> Figure {
    Figure { value, ci: Some(Interval { low, high }), again: None, trials: 6, disturbed: 0, compiled: None }
}

#[test]
fn an_interval_within_the_band_holds_outside_does_not_and_across_is_open() {
    let of = |found: Figure| judge(&claim(0.75, 0.95), Some(found), 60.0);
    assert!(matches!(of(figure(0.79, 0.76, 0.82)), Reproduced::Holds(_)));
    assert!(matches!(of(figure(0.99, 0.97, 1.01)), Reproduced::DoesNotHold(_)));
    assert!(matches!(of(figure(0.60, 0.55, 0.74)), Reproduced::DoesNotHold(_)));
    let Reproduced::NotDecided(open) = of(figure(0.93, 0.89, 0.97)) else {
        panic!("{:?}", of(figure(0.93, 0.89, 0.97)))
    };
    assert_eq!(open.why, Why::Crosses);
    // The half width has to shrink from 0.04 to 0.02: four times as long.
    assert!((open.needs_s.unwrap() - 240.0).abs() < 1e-6, "{open:?}");
    // Exactly at the end of the band no time is enough.
    let Reproduced::NotDecided(open) = of(figure(0.95, 0.91, 0.99)) else { panic!() };
    assert_eq!(open.needs_s, None);
}

#[test]
fn without_an_interval_nothing_is_decided() {
    let found = Figure { ci: None, ..figure(0.8, 0.0, 0.0) };
    let Reproduced::NotDecided(open) = judge(&claim(0.75, 0.95), Some(found), 60.0) else { panic!() };
    assert_eq!((open.why, open.needs_s), (Why::TooFew, Some(180.0)));
    let Reproduced::NotDecided(open) = judge(&claim(0.75, 0.95), None, 0.0) else { panic!() };
    assert_eq!((open.why, open.needs_s), (Why::NotRun, None));
}

#[test]
fn a_machine_whose_repeats_of_a_differ_decides_no_claim() {
    let again = |value: f64, low: f64, high: f64| Some(Again { value, ci: Some(Interval { low, high }) });
    let with = |again| judge(&claim(0.75, 0.95), Some(Figure { again, ..figure(0.79, 0.76, 0.82) }), 60.0);
    assert!(matches!(with(again(0.85, 0.80, 0.90)), Reproduced::NotDecided(Open { why: Why::Again, .. })));
    // A shown difference that is small compared with the claim; then a large one that is not shown.
    assert!(matches!(with(again(0.97, 0.95, 0.99)), Reproduced::Holds(_)));
    assert!(matches!(with(again(0.85, 0.70, 1.02)), Reproduced::Holds(_)));
}

/// Both trials of a condition are often in one mode, so two blocks decide only what lies far beyond their spread.
#[test]
fn two_blocks_decide_by_the_rule_for_two_trials() {
    let of = |ratios: &[f64]| {
        let of_block = |(block, ratio): (usize, &f64)| {
            [("near", 100.0), ("far", 100.0 * ratio)].map(|(client, tps)| {
                let condition = format!("client={client}");
                let planned = PlannedTrial { trial: 2 * block, block, condition, lifetime: None };
                let levels = Levels::from([("client".into(), client.into())]);
                let metrics = [("tps".to_owned(), tps)].into();
                let samples = vec![SampleRecord { elapsed_s: 1.0, metrics, ..SampleRecord::default() }];
                TrialRecord { samples, elapsed_s: 10.0, ..TrialRecord::new(&planned, 1, levels, String::new()) }
            })
        };
        let trials = ratios.iter().enumerate().flat_map(of_block).collect();
        of_results(&claim(0.75, 0.95), &Results { trials, ..Results::default() })
    };
    // 0.8 with a standard error of 0.5%: the interval at 95%, 12.7 of them on either side, lies within the band.
    let two = of(&[0.796, 0.804]);
    let Reproduced::NotDecided(open) = two else { panic!("{two:?}") };
    assert_eq!((open.why, open.needs_s), (Why::TooFew, Some(120.0)));
    assert!(matches!(of(&[0.796, 0.804, 0.8]), Reproduced::Holds(_)));
    assert!(matches!(of(&[0.79999, 0.80001]), Reproduced::Holds(_)));
}

#[test]
fn disturbed_trials_decide_a_value_only_if_it_is_the_same_in_all_of_them() {
    let of = |values: [f64; 4], disturbed: bool| {
        let trials = values.into_iter().enumerate().map(|(number, value)| {
            let planned = PlannedTrial { trial: number, block: number, condition: String::new(), lifetime: None };
            let mut record = TrialRecord::new(&planned, 1, Levels::new(), String::new());
            record.reason = disturbed.then(|| "CPU time of rustc 51%".to_owned());
            let metrics = [("loss".to_owned(), value)].into();
            record.samples = vec![SampleRecord { elapsed_s: 1.0, metrics, ..SampleRecord::default() }];
            record
        });
        let (measure, metric) = (Measure::Value, Some("loss".into()));
        let claim = Claim { measure, metric, a: Levels::new(), b: None, ..claim(0.0, 10.0) };
        of_results(&claim, &Results { trials: trials.collect(), ..Results::default() })
    };
    let counted_more = [20.0, 30.0, 25.0, 27.0];
    assert!(matches!(of(counted_more, false), Reproduced::DoesNotHold(_)));
    assert!(matches!(of(counted_more, true), Reproduced::NotDecided(Open { why: Why::Disturbed, .. })));
    assert!(matches!(of([0.0; 4], true), Reproduced::Holds(_)));
}
