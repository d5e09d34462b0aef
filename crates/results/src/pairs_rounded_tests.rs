//! Pairs and races of values of few digits.

use super::*;

/// A percentile has the resolution of its histogram, whatever digits are printed.
#[test]
fn percentiles_that_differ_by_less_than_their_histograms_resolve_do_not_differ() {
    let plan = plan(8);
    let of = |trial: usize| {
        let mut record = record(&plan, trial, 100.0);
        let value = if plan.trials[trial].condition == "b" { 10.006 } else { 10.001 };
        record.samples[0].metrics.insert("latency_ms_p99".into(), value);
        record.samples[0].metrics.insert("query_s_q1".into(), value);
        record
    };
    let records: Vec<TrialRecord> = (0..16).map(of).collect();
    for (metric, differs) in [("latency_ms_p99", false), ("query_s_q1", true)] {
        let metric = Some(metric.to_owned());
        let rule = Settle { metric: metric.clone(), minimum_effect: 1e-4, ..rule() };
        let found = Pairs::of(&plan, &rule, &records).decided(&rule).unwrap();
        assert_eq!(found.finding.verdict == Verdict::Changed, differs, "{metric:?} {found:?}");
        let question = racing::Question { minimum_effect: 1e-4, alpha: 0.05 };
        let race = Race { metric: metric.clone(), ..Race::of(["a", "b"].map(str::to_owned).to_vec(), question, 1) };
        let look = crate::laps::Laps::of(&plan, &race, &records, None).decided(&race).unwrap();
        assert_eq!(look.standing.decided, differs, "{metric:?} {look:?}");
    }
}

/// What rounding hides of a control does not move it.
#[test]
fn a_control_of_few_digits_has_not_moved() {
    let plan = plan(8);
    let of = |trial: usize| {
        let is_b = plan.trials[trial].condition == "b";
        let mut record = record(&plan, trial, if is_b { 90.0 + 0.01 * trial as f64 } else { 100.0 });
        record.samples[0].metrics.insert("aside_s".into(), if is_b { 0.13 } else { 0.12 });
        record
    };
    let records: Vec<TrialRecord> = (0..16).map(of).collect();
    let rule = Settle { controls: vec!["aside_s".into()], ..rule() };
    let pairs = Pairs::of(&plan, &rule, &records);
    let (_, control) = pairs.untouched(&rule).pop().unwrap();
    assert_eq!(control.verdict, Verdict::Undecided, "{control:?}");
}

/// A race of programs that print `0.12` and `0.13`.
#[test]
fn values_of_few_digits_name_no_best() {
    let plan = plan(8);
    let decided = |values: [f64; 2]| {
        let side = |trial: usize| usize::from(plan.trials[trial].condition == "b");
        let records: Vec<TrialRecord> = (0..16).map(|trial| record(&plan, trial, values[side(trial)])).collect();
        let race = Race::of(["a", "b"].map(str::to_owned).to_vec(), QUESTION, 1);
        let look = crate::laps::Laps::of(&plan, &race, &records, None).decided(&race).unwrap();
        (look.standing.decided, look.standing.behind.unwrap())
    };
    let (is_decided, behind) = decided([0.12, 0.13]);
    assert!(!is_decided && behind > 1.02, "{behind}");
    assert!(!decided([0.12, 0.12]).0 && decided([0.12, 0.15]).0 && decided([0.1203, 0.1204]).0);
}

/// Programs that print `0.12` and `0.13` may take 0.1249 and 0.1251 s, and two that print `0.12` 0.115 and 0.125 s.
#[test]
fn values_of_few_digits_show_neither_a_change_nor_its_absence() {
    let found = |values: [f64; 2]| {
        let plan = plan(8);
        let side = |trial: usize| usize::from(plan.trials[trial].condition == "b");
        let records: Vec<TrialRecord> = (0..16).map(|trial| record(&plan, trial, values[side(trial)])).collect();
        let pairs = Pairs::of(&plan, &rule(), &records);
        let look = pairs.decided(&rule()).unwrap();
        (look.finding.verdict, look.finding.ci.unwrap())
    };
    let (verdict, ci) = found([0.12, 0.13]);
    assert!(verdict == Verdict::Undecided && ci.contains(1.0), "{ci:?}");
    let (verdict, ci) = found([0.12, 0.12]);
    assert!(verdict == Verdict::Undecided && ci.contains(0.125 / 0.115), "{ci:?}");
    assert_eq!(found([0.12, 0.15]).0, Verdict::Changed);
    assert_eq!(found([0.1203, 0.1204]).0, Verdict::Equivalent);
}
