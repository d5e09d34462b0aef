//! Tests of verdicts on synthetic figures.

use super::{Again, *};
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
    Figure {
        value,
        ci: Some(Interval { low, high }),
        again: None,
        trials: 6,
        disturbed: 0,
        servers: Vec::new(),
        compiled: None,
    }
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
    // The half width has to shrink to half of it, nearly, as logarithms: four times as long.
    assert!((open.needs_s.unwrap() - 235.0).abs() < 1.0, "{open:?}");
    // Exactly at the end of the band no time is enough.
    let Reproduced::NotDecided(open) = of(figure(0.95, 0.91, 0.99)) else { panic!() };
    assert_eq!(open.needs_s, None);
}

/// "0.5 to 2, 1.15 (0.55 to 2.40)": the upper end is crossed, and the nearer one is not.
#[test]
fn the_needed_time_excludes_every_crossed_end_on_the_scale_of_the_interval() {
    let needs_s = |value, low, high| match judge(&claim(0.5, 2.0), Some(figure(value, low, high)), 60.0) {
        Reproduced::NotDecided(open) => open.needs_s.unwrap() / 60.0,
        other => panic!("{other:?}"),
    };
    let times = |half: f64, needed: f64| (half.ln() / needed.ln()).powi(2);
    assert!((needs_s(1.15, 0.55, 2.4) - times(2.4 / 1.15, 2.0 / 1.15)).abs() < 1e-9, "1.8 times as long");
    // Both are crossed: the one that is harder to exclude counts.
    assert!((needs_s(1.5, 0.45, 5.0) - times(5.0 / 1.5, 2.0 / 1.5)).abs() < 1e-9);
    // From outside only the end that is crossed first.
    assert!((needs_s(3.0, 1.5, 6.0) - times(2.0, 1.5)).abs() < 1e-9);
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
fn a_difference_of_a_from_itself_prevents_only_verdicts_that_it_could_change() {
    let again = |value: f64, low: f64, high: f64| Some(Again { value, ci: Some(Interval { low, high }) });
    let with = |again| judge(&claim(0.75, 0.95), Some(Figure { again, ..figure(0.79, 0.76, 0.82) }), 60.0);
    assert!(matches!(with(again(0.85, 0.80, 0.90)), Reproduced::NotDecided(Open { why: Why::Again, .. })));
    // The low end of the interval, moved by 3%, is outside; by 1% it is not; and a large difference is not shown.
    assert!(matches!(with(again(1.03, 1.01, 1.05)), Reproduced::NotDecided(Open { why: Why::Again, .. })));
    assert!(matches!(with(again(0.99, 0.985, 0.995)), Reproduced::Holds(_)));
    assert!(matches!(with(again(0.85, 0.70, 1.02)), Reproduced::Holds(_)));
    // No effect was published: any difference of A from itself is more than that.
    let none = Figure { again: again(1.003, 1.001, 1.005), ..figure(1.004, 0.998, 1.010) };
    assert!(matches!(judge(&claim(0.95, 1.05), Some(none), 60.0), Reproduced::Holds(_)));
}

/// Every query is stable only if the one whose interval is the widest is: the query with the largest ratio is another.
#[test]
fn a_claim_on_every_metric_is_judged_by_all_of_their_intervals() {
    let of = |queries: [[f64; 5]; 2]| {
        let of_block = |block: usize| {
            [("near", [1.0; 2]), ("far", queries.map(|ratios| ratios[block]))].map(|(client, seconds)| {
                let condition = format!("client={client}");
                let planned = PlannedTrial { trial: 2 * block, block, condition, lifetime: None };
                let levels = Levels::from([("client".into(), client.into())]);
                let names = ["query_s_q3", "query_s_q14"].map(str::to_owned);
                let metrics = names.into_iter().zip(seconds).collect();
                let samples = vec![SampleRecord { elapsed_s: 1.0, metrics, ..SampleRecord::default() }];
                TrialRecord { samples, elapsed_s: 10.0, ..TrialRecord::new(&planned, 1, levels, String::new()) }
            })
        };
        let trials = (0..5).flat_map(of_block).collect();
        let every = Claim { measure: Measure::EveryRatio, metric: None, ..claim(0.95, 1.05) };
        of_results(&every, &Results { trials, ..Results::default() })
    };
    let (steady, unsteady) = ([1.03, 1.031, 1.029, 1.03, 1.03], [0.7, 1.4, 1.1, 0.8, 1.2]);
    let open = of([steady, unsteady]);
    assert!(matches!(open, Reproduced::NotDecided(Open { why: Why::Crosses, .. })), "{open:?}");
    assert!(matches!(of([steady, [0.999, 1.001, 1.0, 1.0, 1.0]]), Reproduced::Holds(_)));
    // One that is certainly not stable refutes it, whatever the others do.
    let Reproduced::DoesNotHold(figure) = of([[1.3, 1.31, 1.29, 1.3, 1.3], unsteady]) else { panic!() };
    assert!((figure.value - 1.3).abs() < 0.01, "{figure:?}");
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
