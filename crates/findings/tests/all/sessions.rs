//! Several sessions per side: effects that a session's trials share must not lead to a verdict.

use crate::draws::Draws;
use crate::made_up::{results, trial};
use tare_findings::compare::{CompareError, Comparison, Gate, Lost, Note, Options, Side, compare, compare_sessions};
use tare_results::Results;
use tare_results::schema::{Outcome, RanOn};
use tare_stats::ratio::Verdict;

/// A session of six trials of each condition with its gain; sessions differ with a standard deviation of `offset`.
fn session(rng: &mut Draws, offset: f64, gains: &[(&str, f64)]) -> Results {
    let shared = offset * rng.normal();
    let mut trials = Vec::new();
    for block in 0..6 {
        for (condition, gain) in gains {
            let value = 1000.0 * (shared + gain + 0.01 * rng.normal()).exp();
            trials.push(trial(trials.len(), block, condition, value, false));
        }
    }
    results("best", trials)
}

fn sides<'r>(all: &'r [Results], condition: Option<&'r str>) -> Vec<Side<'r>> {
    all.iter().map(|results| Side { results, condition }).collect()
}

fn verdict(found: &Comparison) -> Verdict {
    found.metrics[0].verdict
}

fn claims(found: &Comparison) -> bool {
    matches!(verdict(found), Verdict::Faster | Verdict::Slower)
}

fn options() -> Options {
    Options { fail_if_slower: Some(0.02), ..Options::default() }
}

#[test]
fn a_difference_between_sessions_is_not_attributed_to_builds() {
    let mut rng = Draws(71_001);
    for offset in [0.01, 0.02, 0.04] {
        let (mut together, mut single, studies) = (0, 0, 200);
        for _ in 0..studies {
            let mut sessions = || (0..5).map(|_| session(&mut rng, offset, &[("c", 0.0)])).collect::<Vec<_>>();
            let (a, b) = (sessions(), sessions());
            together += usize::from(claims(&compare_sessions(&sides(&a, None), &sides(&b, None), &options()).unwrap()));
            single += usize::from(claims(&compare(sides(&a, None)[0], sides(&b, None)[0], &options()).unwrap()));
        }
        println!("session sd {offset}: {together} of {studies} by five sessions a side, {single} by one");
        // 5%, and three standard errors of 200.
        assert!(together <= 19 && single > together + 20, "{offset}: {together}, {single} of {studies}");
    }
}

#[test]
fn builds_measured_in_the_same_sessions_are_paired_by_them() {
    let mut rng = Draws(71_002);
    let gains = |b: f64| [("build=a", 0.0), ("build=b", b)];
    let (mut wrong, mut found) = (0, 0);
    for _ in 0..200 {
        let all: Vec<Results> = (0..5).map(|_| session(&mut rng, 0.04, &gains(0.0))).collect();
        let (a, b) = (sides(&all, Some("build=a")), sides(&all, Some("build=b")));
        let same = compare_sessions(&a, &b, &options()).unwrap();
        assert!(same.sessions.unwrap().paired && same.metrics[0].paired);
        wrong += usize::from(claims(&same));
        let all: Vec<Results> = (0..5).map(|_| session(&mut rng, 0.04, &gains(-0.03))).collect();
        let (a, b) = (sides(&all, Some("build=a")), sides(&all, Some("build=b")));
        let slower = compare_sessions(&a, &b, &options()).unwrap();
        found += usize::from(verdict(&slower) == Verdict::Slower);
    }
    println!("A/A {wrong}, -3% {found} of 200");
    assert!(wrong <= 19 && found >= 180, "{wrong} {found}");
}

#[test]
fn fewer_than_five_sessions_decide_nothing() {
    let mut rng = Draws(71_003);
    let mut sessions = |n, gain| (0..n).map(|_| session(&mut rng, 0.001, &[("c", gain)])).collect::<Vec<_>>();
    let (a, b, four) = (sessions(5, 0.0), sessions(5, -0.2), sessions(4, -0.2));
    let decided = compare_sessions(&sides(&a, None), &sides(&b, None), &options()).unwrap();
    assert_eq!((verdict(&decided), decided.gate), (Verdict::Slower, Some(Gate::Failed)));
    assert_eq!((decided.metrics[0].trials_a, decided.sessions.unwrap().decides), (5, true));
    let open = compare_sessions(&sides(&a, None), &sides(&four, None), &options()).unwrap();
    assert_eq!((verdict(&open), open.gate), (Verdict::Inconclusive, Some(Gate::Inconclusive)));
    assert!(open.metrics[0].ci.is_some() && !open.sessions.unwrap().decides);
    // A fifth session whose trials all failed is no observation.
    let mut dead = b;
    for trial in &mut dead[4].trials {
        trial.outcome = Outcome::Failed;
        trial.samples.clear();
    }
    let open = compare_sessions(&sides(&a, None), &sides(&dead, None), &options()).unwrap();
    let of = open.sessions.unwrap();
    assert_eq!((verdict(&open), of.a, of.b, of.decides), (Verdict::Inconclusive, 5, 4, false));
    // But its trials failed, and none of A's.
    assert_eq!((open.losses[0].b_fails_more, open.gate), (true, Some(Gate::Failed)));
}

/// Whatever the number of sessions: failures are counted in trials.
#[test]
fn a_side_that_lost_all_its_trials_fails_the_gate_of_two_sessions() {
    let mut rng = Draws(71_006);
    let gains = [("build=a", 0.0), ("build=b", 0.0)];
    let mut all: Vec<Results> = (0..2).map(|_| session(&mut rng, 0.01, &gains)).collect();
    for trial in all.iter_mut().flat_map(|results| &mut results.trials).filter(|trial| trial.condition == "build=b") {
        trial.outcome = Outcome::Failed;
        trial.samples.clear();
    }
    let (a, b) = (sides(&all, Some("build=a")), sides(&all, Some("build=b")));
    let notes = |found: &Comparison| -> Vec<Note> {
        let is_of_losses = |note: &&Note| matches!(note, Note::Failed { .. } | Note::Lost { .. });
        found.notes.iter().filter(is_of_losses).cloned().collect()
    };
    let lost = Lost { failed: 12, lost: 12, trials: 12 };
    let (side, condition) = ("B".to_owned(), "build=b".to_owned());
    let expected = vec![
        Note::Failed { side: side.clone(), condition: condition.clone(), failed: 12 },
        Note::Lost { side, condition, lost },
    ];
    let found = compare_sessions(&a, &b, &options()).unwrap();
    assert_eq!((found.gate, found.metrics.len(), found.losses[0].b), (Some(Gate::Failed), 0, lost));
    assert_eq!(notes(&found), expected);
    let turned = compare_sessions(&b, &a, &options()).unwrap();
    assert_eq!(turned.gate, Some(Gate::Inconclusive), "A fails more");
    // Sessions of their own for each side.
    let (of_a, of_b) = all.split_at(1);
    let (a, b) = (sides(of_a, Some("build=a")), sides(of_b, Some("build=b")));
    let apart = compare_sessions(&[&a[..], &sides(of_b, Some("build=a"))].concat(), &b, &options()).unwrap();
    assert_eq!((apart.gate, apart.losses[0].b.lost), (Some(Gate::Failed), 6));
}

/// A trial is recognised by its start, its host and its values.
#[test]
fn a_session_that_is_named_twice_is_refused() {
    let mut rng = Draws(71_005);
    let mut sessions = |started_at: &str| -> Vec<Results> {
        let mut all: Vec<Results> = (0..5).map(|_| session(&mut rng, 0.01, &[("c", 0.0)])).collect();
        let trials = all.iter_mut().flat_map(|results| &mut results.trials);
        trials.for_each(|trial| trial.started_at = started_at.to_owned());
        all
    };
    let (a, mut b) = (sessions("2026-11-27T10:00:00Z"), sessions("2026-11-27T10:00:00Z"));
    let judged = |b: &[Results]| compare_sessions(&sides(&a, None), &sides(b, None), &options());
    assert!(judged(&b).is_ok());
    b[4] = b[0].clone();
    assert!(matches!(judged(&b), Err(CompareError::SameTrials { what: "two sessions", .. })));
    // The same values on another host are another session.
    let ran_on = RanOn { host: "other".to_owned(), boot_id: None };
    b[4].trials.iter_mut().for_each(|trial| trial.ran_on = Some(ran_on.clone()));
    assert!(judged(&b).is_ok());
    b[4] = b[0].clone();
    for copy in [0, 4] {
        b[copy].trials.iter_mut().for_each(|trial| trial.started_at.clear());
    }
    assert!(judged(&b).is_ok());
    // Failures of a session count once too.
    for trial in &mut b[1].trials {
        trial.outcome = Outcome::Failed;
        trial.samples.clear();
    }
    assert!(judged(&b).is_ok());
    b[2] = b[1].clone();
    assert!(matches!(judged(&b), Err(CompareError::SameTrials { what: "two sessions", .. })));
}

#[test]
fn trials_that_sessions_lost_are_counted_in_all_of_them() {
    let mut rng = Draws(71_004);
    let mut sessions = || (0..5).map(|_| session(&mut rng, 0.01, &[("c", 0.0)])).collect::<Vec<_>>();
    let (a, mut b) = (sessions(), sessions());
    for results in &mut b {
        for trial in results.trials.iter_mut().take(2) {
            trial.outcome = Outcome::Failed;
            trial.samples.clear();
        }
    }
    let found = compare_sessions(&sides(&a, None), &sides(&b, None), &options()).unwrap();
    let lost = &found.losses[0];
    assert_eq!((lost.b.failed, lost.b.trials, lost.a.trials, lost.b_fails_more), (10, 30, 30, true));
    assert_eq!(found.gate, Some(Gate::Failed));
}
