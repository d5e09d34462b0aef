//! Comparisons of sides that lost trials.

use crate::compared::{dying, gate, run, scores, steady, whole};
use crate::made_up::{results, trial};
use tare_findings::compare::{CompareError, Gate, Note, Options, Side, compare, compare_many};
use tare_results::Results;
use tare_results::schema::{Outcome, PlannedTrial, TrialRecord};

#[test]
fn a_gate_does_not_pass_if_one_side_alone_lost_trials() {
    let (good, ten) = (steady(6), steady(10));
    assert_eq!(gate(&ten, &steady(10)), Some(Gate::Passed));
    for (dead, expected) in [(1, Gate::Inconclusive), (3, Gate::Inconclusive), (4, Gate::Failed), (6, Gate::Failed)] {
        assert_eq!(gate(&ten, &dying(10, dead)), Some(expected), "{dead} of 10 of B");
        assert_eq!(gate(&dying(10, dead), &ten), Some(Gate::Inconclusive), "{dead} of 10 of A");
    }
    // A trial whose second attempt gave a result is not lost.
    let mut repeated = steady(10);
    repeated.trials.splice(0..0, dying(10, 1).trials.into_iter().take(1));
    assert_eq!(gate(&ten, &repeated), Some(Gate::Passed));
    // A throughput of 0 is no measurement.
    let idle = run(6, |i, luck| trial(i, i, "c", if i < 3 { 0.0 } else { 1000.0 * luck }, false));
    assert_eq!(gate(&good, &idle), Some(Gate::Inconclusive));
    // A disturbed trial that was set aside is not the side's fault.
    let aside = run(10, |i, luck| {
        let mut record = trial(i, i, "c", 1000.0 * luck, i < 5);
        record.outcome = if i < 5 { Outcome::Disturbed } else { Outcome::Ok };
        record
    });
    assert_eq!(gate(&ten, &aside), Some(Gate::Passed));
    // Without disturbed trials it passes too.
    let disturbed = run(10, |i, luck| trial(i, i, "c", 1000.0 * luck, i < 3));
    assert_eq!(gate(&ten, &disturbed), Some(Gate::Passed));
}

/// Loss that left no record: trials that were not run, and a condition that only the first side has.
#[test]
fn a_gate_does_not_pass_if_trials_or_a_condition_of_the_first_side_are_missing() {
    let planned = |mut run: Results, trials: usize| {
        let of = |trial| PlannedTrial { trial, block: trial, condition: "c".to_owned(), lifetime: None };
        run.plan.as_mut().unwrap().trials = (0..trials).map(of).collect();
        run
    };
    let whole_run = planned(steady(10), 10);
    assert_eq!(gate(&whole_run, &planned(steady(10), 10)), Some(Gate::Passed));
    assert_eq!(gate(&whole_run, &planned(steady(6), 10)), Some(Gate::Inconclusive), "killed after six of ten blocks");
    assert_eq!(gate(&planned(steady(6), 10), &whole_run), Some(Gate::Inconclusive));
    let notes = compare(whole(&whole_run), whole(&planned(steady(6), 10)), &Options::default()).unwrap().notes;
    assert!(notes.contains(&Note::Unfinished { side: "B".to_owned(), missing: 4, planned: 10 }), "{notes:?}");
    let with_another = run(20, |i, luck| trial(i, i / 2, ["c", "d"][i % 2], 1000.0 * luck, false));
    let mut one = with_another.clone();
    one.trials.retain(|trial| trial.condition == "c");
    assert_eq!(gate(&with_another, &one), Some(Gate::Inconclusive), "d is only in A");
    assert_eq!(gate(&one, &with_another), Some(Gate::Passed), "what only B has, has nothing to be slower than");
}

#[test]
fn a_side_whose_trials_all_failed_fails_the_gate() {
    let (good, dead) = (steady(10), dying(10, 10));
    assert_eq!(gate(&good, &dead), Some(Gate::Failed));
    assert_eq!(gate(&dead, &good), Some(Gate::Inconclusive));
    assert_eq!(gate(&steady(2), &dying(2, 2)), Some(Gate::Inconclusive), "two are too few for a rate");
}

/// Four of ten have p 0.043 by Fisher's exact test, five 0.016.
#[test]
fn failures_under_several_conditions_are_one_family_of_tests() {
    let of = |dead: usize| {
        let trials = ["c", "d"].into_iter().flat_map(|condition| {
            let named = move |mut record: TrialRecord| {
                record.condition = condition.to_owned();
                record
            };
            dying(10, dead).trials.into_iter().map(named)
        });
        let mut all = results("best", trials.collect());
        all.trials.iter_mut().enumerate().for_each(|(place, trial)| trial.trial = place);
        all
    };
    for (dead, expected) in [(4, Gate::Inconclusive), (5, Gate::Failed)] {
        assert_eq!(gate(&of(0), &of(dead)), Some(expected), "{dead} of 10 under each of two conditions");
    }
}

#[test]
fn only_a_side_that_lost_everything_need_not_have_a_metric() {
    for dead in [0, 1] {
        let [a, mut b] = ["one", "other"].map(|name| scores(name, &[1.0, 1.1, 1.2]));
        b.trials[..dead].iter_mut().for_each(|trial| trial.outcome = Outcome::Failed);
        let found = compare(whole(&a), whole(&b), &Options::default());
        assert!(matches!(found, Err(CompareError::NoMetric)), "{found:?}");
    }
    // Under one of two conditions only: the other is judged.
    let two = |dead: usize| {
        let named = |name: &'static str, dead: usize| {
            dying(6, dead).trials.into_iter().map(move |trial| TrialRecord { condition: name.to_owned(), ..trial })
        };
        let mut all = results("best", named("c", 0).chain(named("d", dead)).collect());
        all.trials.iter_mut().enumerate().for_each(|(place, trial)| trial.trial = place);
        all
    };
    let found = compare(whole(&two(0)), whole(&two(6)), &Options::default()).unwrap();
    assert!(found.metrics.iter().any(|metric| metric.judged && metric.condition.a == "c"), "{found:?}");
    // What the other side lacks altogether has a note.
    let [mut one, other] = [two(0), two(0)];
    one.trials.retain(|trial| trial.condition == "c");
    let notes = compare(whole(&one), whole(&other), &Options::default()).unwrap().notes;
    let only = Note::OnlyIn { condition: "d".to_owned(), side: "B".to_owned() };
    assert!(notes.contains(&only), "{notes:?}");
}

#[test]
fn lost_trials_have_a_note_and_more_than_by_chance_another() {
    for (dead, more) in [(0, false), (3, false), (4, true)] {
        let notes = compare(whole(&steady(10)), whole(&dying(10, dead)), &Options::default()).unwrap().notes;
        let failed =
            notes.iter().find_map(|note| if let Note::Failed { failed, .. } = note { Some(*failed) } else { None });
        let lost =
            notes.iter().find_map(|note| if let Note::Lost { lost, .. } = note { Some(lost.lost) } else { None });
        let some = Some(dead).filter(|dead| *dead > 0);
        assert_eq!((failed, lost), (some, some), "{notes:?}");
        assert_eq!(notes.iter().any(|note| matches!(note, Note::FailsMore(_))), more, "{notes:?}");
    }
}

#[test]
fn a_note_on_the_first_of_many_sides_and_on_their_runs_is_given_once() {
    let runs = [dying(10, 1), steady(10), steady(10)];
    let sides: Vec<(String, Side<'_>)> =
        ["x", "y", "z"].into_iter().zip(&runs).map(|(name, run)| (name.to_owned(), whole(run))).collect();
    let found = compare_many(&sides, &Options::default()).unwrap();
    let failed = found.notes.iter().filter(|note| matches!(note, Note::Failed { side, .. } if side == "x"));
    assert_eq!((failed.count(), found.one_run), (1, false), "{:?}", found.notes);
    let of_runs = |notes: &[Note]| {
        let others = |note: &Note| if let Note::Sessions { others, .. } = note { Some(others.clone()) } else { None };
        notes.iter().filter_map(others).collect::<Vec<_>>()
    };
    assert_eq!(of_runs(&found.notes), [["y", "z"]]);
    let luck = |i: usize| 1000.0 + ((7 * i) % 11) as f64;
    let one_run =
        results("best", (0..30).map(|i| trial(i, i / 3, ["c=x", "c=y", "c=z"][i % 3], luck(i), false)).collect());
    let sides = ["c=x", "c=y", "c=z"].map(|name| (name.to_owned(), Side { results: &one_run, condition: Some(name) }));
    let found = compare_many(&sides, &Options::default()).unwrap();
    assert!(found.one_run && of_runs(&found.notes).is_empty(), "{:?}", found.notes);
}
