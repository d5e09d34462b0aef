//! Answers without the disturbed trials: each answer comes from its own trials, and two answers are the same only if
//! they make the same claim about the same conditions.

use crate::made_up::{results, trial};
use tare_findings::answered;
use tare_findings::verdict::{Answer, Selected, Verdict, Without};

/// Twenty blocks, with the throughput of each condition in clean and in disturbed trials. If the two differ, the trials
/// of the first sixteen blocks are disturbed.
fn made_up(question: &str, conditions: &[(&str, f64, f64)]) -> Answer {
    let mut trials = Vec::new();
    for block in 0..20 {
        for (condition, clean, disturbed) in conditions {
            let is_disturbed = block < 16 && clean != disturbed;
            let tps = if is_disturbed { *disturbed } else { *clean };
            // Trials differ slightly, and no two blocks are equal.
            let luck = 1.0 + 0.0001 * ((7 * trials.len()) % 11) as f64;
            trials.push(trial(trials.len(), block, condition, tps * luck, is_disturbed));
        }
    }
    answered(&results(question, trials))
}

fn without(answer: &Answer) -> &Without {
    &answer.disturbed.as_ref().unwrap().without
}

#[test]
fn figures_without_disturbed_trials_are_of_the_trials_that_are_left() {
    let answer = made_up("best", &[("placement=a", 100_000.0, 5_000.0), ("placement=b", 50_000.0, 50_000.0)]);
    let best = |verdict: &Verdict| match verdict {
        Verdict::Ranked { ranking, range, .. } => (
            ranking.best.clone(),
            range.clone().map(|range| [range.low, range.high].map(|(name, mean)| (name, (mean / 1000.0).round()))),
        ),
        other => panic!("{other:?}"),
    };
    let (a, b) = ("placement=a".to_owned(), "placement=b".to_owned());
    let disturbed = answer.disturbed.as_ref().unwrap();
    assert_eq!((disturbed.trials, disturbed.of, answer.leaves_disturbed_out()), (16, 40, true));
    assert_eq!(best(&answer.verdict), (b.clone(), None), "no mean describes the trials of a");
    let Without::Other(again) = without(&answer) else { panic!("{answer:?}") };
    assert_eq!(best(again), (a.clone(), Some([(b, 50.0), (a, 100.0)])));
}

#[test]
fn conditions_whose_names_differ_by_a_digit_are_other_conditions() {
    let answer = made_up("best", &[("slot=1", 100.0, 97.0), ("slot=2", 99.5, 99.5), ("slot=3", 50.0, 50.0)]);
    let best = |verdict: &Verdict| match verdict {
        Verdict::Ranked { ranking, .. } if ranking.best_ties.is_empty() => ranking.best.clone(),
        other => panic!("{other:?}"),
    };
    let Without::Other(again) = without(&answer) else { panic!("{answer:?}") };
    assert_eq!([best(&answer.verdict), best(again)], ["slot=2", "slot=1"]);
}

#[test]
fn a_factor_that_moves_the_other_way_is_another_claim() {
    let off = [("a=off b=off", 100.0, 100.0), ("a=off b=on", 100.0, 100.0)];
    let on = [("a=on b=off", 120.0, 80.0), ("a=on b=on", 120.0, 80.0)];
    let answer = made_up("effect", &[off, on].concat());
    let moved = |verdict: &Verdict| match verdict {
        Verdict::Moved { first, rest, .. } if rest.is_empty() => (first.term.to_string(), first.ratio > 1.0),
        other => panic!("{other:?}"),
    };
    let Without::Other(again) = without(&answer) else { panic!("{answer:?}") };
    assert_eq!([moved(&answer.verdict), moved(again)], [("a".to_owned(), false), ("a".to_owned(), true)]);
}

#[test]
fn a_claim_that_holds_without_them_comes_out_the_same_although_figures_differ() {
    let answer = made_up("best", &[("placement=a", 100.0, 95.0), ("placement=b", 50.0, 50.0)]);
    let Without::Same(again) = without(&answer) else { panic!("{answer:?}") };
    assert_ne!(again, &answer.verdict);
    let clean = made_up("best", &[("placement=a", 100.0, 100.0), ("placement=b", 50.0, 50.0)]);
    assert!(clean.disturbed.is_none() && !clean.leaves_disturbed_out(), "{clean:?}");
}

/// Trials of b are more alike than those of a, but for four fast ones, which are disturbed.
#[test]
fn another_condition_that_differs_most_by_chance_is_another_claim() {
    let mut trials = Vec::new();
    for block in 0..12 {
        let luck = |of: usize| ((of * block + of) % 12) as f64 / 5.5 - 1.0;
        let is_disturbed = block < 4;
        let b = if is_disturbed { 103.5 + 0.5 * luck(5) } else { 100.0 + luck(5) };
        trials.push(trial(trials.len(), block, "placement=a", 100.0 + 2.0 * luck(7), false));
        trials.push(trial(trials.len(), block, "placement=b", b, is_disturbed));
    }
    let answer = answered(&results("spread", trials));
    let by_chance = |verdict: &Verdict| match verdict {
        Verdict::SpreadFrom(from) if from.sources.is_empty() => from.by_chance.clone().unwrap().condition,
        other => panic!("{other:?}"),
    };
    let Without::Other(again) = without(&answer) else { panic!("{answer:?}") };
    assert_eq!([by_chance(&answer.verdict), by_chance(again)], ["placement=b", "placement=a"]);
}

/// Two numbers of threads are no ladder; the conditions are compared instead.
#[test]
fn what_stands_in_for_a_ladder_must_hold_without_them_too() {
    let answer = made_up("scaling", &[("threads=1", 100.0, 100.0), ("threads=2", 50.0, 200.0)]);
    let Without::Other(again) = without(&answer) else { panic!("{answer:?}") };
    assert!(answer.verdict.is_claim() && again.is_claim() && !again.claims_the_same(&answer.verdict), "{answer:?}");
}

/// Each condition has two clean trials, but one of them has no throughput.
#[test]
fn clean_trials_without_a_figure_to_compare_decide_nothing() {
    let mut trials = Vec::new();
    for block in 0..6 {
        for (condition, tps) in [("placement=a", 1000.0), ("placement=b", 500.0)] {
            let luck = 1.0 + 0.0001 * ((7 * trials.len()) % 11) as f64;
            let mut made = trial(trials.len(), block, condition, tps * luck, condition == "placement=a" && block > 1);
            if condition == "placement=a" && block == 1 {
                made.samples[0].metrics.clear();
            }
            trials.push(made);
        }
    }
    let answer = answered(&results("best", trials));
    assert!(answer.verdict.is_claim(), "{answer:?}");
    assert_eq!((without(&answer), answer.decides()), (&Without::TooFew, None), "{answer:?}");
}

/// Six blocks of three conditions; only the first `clean` trials of one of them are not disturbed.
#[test]
fn one_clean_trial_of_a_condition_decides_nothing_and_two_do() {
    let of = |clean: usize| {
        let mut trials = Vec::new();
        for block in 0..6 {
            for (condition, tps, is_disturbed) in
                [("placement=a", 1000.0, block >= clean), ("placement=b", 500.0, false), ("placement=c", 250.0, false)]
            {
                let luck = 1.0 + 0.0001 * ((7 * trials.len()) % 11) as f64;
                trials.push(trial(trials.len(), block, condition, tps * luck, is_disturbed));
            }
        }
        answered(&results("best", trials))
    };
    // Without any, the other two would be compared as if the third did not exist.
    for clean in [0, 1] {
        let answer = of(clean);
        assert_eq!((without(&answer), answer.decides()), (&Without::TooFew, None), "{clean} clean");
        assert!(!answer.leaves_disturbed_out() && answer.shown() == &answer.verdict, "{clean} clean");
    }
    assert!(of(2).decides().is_some_and(Verdict::is_claim), "{:?}", of(2));
}

/// Sixteen blocks as in [`luck`]: the first `slow` trials by luck are slow and disturbed.
fn by_luck(slow: usize, taken: f64) -> Answer {
    luck("spread", 16, slow, taken, 133.0)
}

/// Blocks with one trial by luck and one with the throughput `by_design`. The first `slow` trials by luck are slow and
/// disturbed: others took the share `taken` of their time.
fn luck(question: &str, blocks: usize, slow: usize, taken: f64, by_design: f64) -> Answer {
    let mut trials = Vec::new();
    for block in 0..blocks {
        let luck = 1.0 + 0.003 * ((7 * block) % 11) as f64;
        let is_slow = block < slow;
        let mut drawn =
            trial(2 * block, block, "placement=by-luck", luck * if is_slow { 28.0 } else { 135.0 }, is_slow);
        if is_slow {
            drawn.samples[0].covariates = [("foreign_cpu_s", taken), ("steal_fraction", 0.0)]
                .map(|(name, value)| (name.to_owned(), value))
                .into();
        }
        trials.push(drawn);
        trials.push(trial(2 * block + 1, block, "placement=by-design", by_design * (2.0 - luck), false));
    }
    answered(&results(question, trials))
}

#[test]
fn clean_trials_that_are_a_selection_of_the_fast_ones_decide_nothing_of_how_trials_differ() {
    let answer = by_luck(8, 0.3);
    let Without::Selected { condition, why: Selected::Beyond, clean } = without(&answer) else { panic!("{answer:?}") };
    assert_eq!(condition, "placement=by-luck");
    assert!(matches!(clean, Verdict::SpreadFrom(from) if from.sources.is_empty()), "{clean:?}");
    assert!(matches!(&answer.verdict, Verdict::SpreadFrom(from) if from.sources.len() == 1), "{answer:?}");
    // The time taken explains it: 28 k/s in a sixth of the time are 168 k/s in all of it, and a complete stall explains
    // everything.
    assert!([0.84, 1.0].iter().all(|taken| matches!(without(&by_luck(8, *taken)), Without::Other(_))));
    // The answer for spread includes figures, so leaving out one trial unnecessarily changes the answer.
    for answer in [by_luck(1, 0.3), luck("spread", 6, 2, 0.3, 100.0)] {
        let Without::Selected { why: Selected::OneBeyond, .. } = without(&answer) else { panic!("{answer:?}") };
        assert!(answer.decides().is_none(), "{answer:?}");
    }
    assert!(luck("spread", 6, 2, 0.84, 100.0).decides().is_some());
    // Of which condition is best they claim the same.
    let answer = luck("best", 16, 8, 0.3, 20.0);
    assert!(matches!(without(&answer), Without::Same(clean) if clean.is_claim()), "{answer:?}");
}

/// Sixteen blocks of two conditions, one with a throughput of 1000 and one of `level`. The slow half of the second
/// condition's trials was disturbed, which slowed them by the share `slower`.
fn slow_half(name: &str, level: f64, slower: f64) -> Answer {
    let mut trials = Vec::new();
    let mut add = |block: usize, condition: &str, tps: f64, is_slow: bool| {
        let mut record = trial(trials.len(), block, condition, tps, is_slow);
        let value = if name == "tps" { tps } else { 1.0 / tps };
        record.samples[0].metrics = [(name.to_owned(), value)].into();
        trials.push(record);
    };
    for block in 0..16 {
        add(block, "ahi=off", 1000.0 + ((3 * block) % 7) as f64 - 3.0, false);
        let own = level + 2.0 * ((7 * block) % 16) as f64 - 15.0;
        let is_slow = own < level;
        add(block, "ahi=on", if is_slow { own * (1.0 - slower) } else { own }, is_slow);
    }
    answered(&results("effect", trials))
}

#[test]
fn clean_trials_that_may_be_a_selection_of_the_fast_ones_claim_nothing_that_all_do_not() {
    for name in ["tps", "query_s_q1"] {
        let answer = slow_half(name, 1000.0, 0.0);
        let Without::Selected { condition, why: Selected::Near, clean } = without(&answer) else {
            panic!("{answer:?}")
        };
        assert!(condition == "ahi=on" && clean.is_claim() && !answer.verdict.is_claim(), "{answer:?}");
        assert!(answer.decides().is_none());
        // Trials that differ by chance as much as clean ones do are not slower by a third.
        let answer = slow_half(name, 1000.0, 0.3);
        assert!(matches!(without(&answer), Without::Other(clean) if clean.is_claim()), "{answer:?}");
        assert!(answer.decides().is_some_and(Verdict::is_claim));
        // Clean trials that claim less are doubted by nobody.
        let answer = slow_half(name, 992.0, 0.0);
        assert!(matches!(without(&answer), Without::Other(clean) if !clean.is_claim()), "{answer:?}");
        assert!(answer.verdict.is_claim());
    }
}
