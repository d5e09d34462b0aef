//! Studies whose blocks ran on several machines.

use crate::compared::whole;
use crate::draws::Draws;
use crate::made_up::{results, trial};
use tare_findings::compare::{Options, compare};
use tare_findings::summarize;
use tare_results::schema::{RanOn, TrialRecord};
use tare_stats::ratio::Verdict;

/// Blocks of three conditions, one after the other on each of five machines. `level` has the logarithm of a block on
/// its machine.
fn study(level: impl Fn(usize, usize) -> f64, draws: &mut Draws) -> Vec<TrialRecord> {
    let made = |number: usize| {
        let (block, condition) = (number / 3, ["x=a", "x=b", "x=c"][number % 3]);
        let machine = block % 5;
        let tps = 10_000.0 * (level(machine, block / 5) + 0.01 * draws.normal()).exp();
        let host = format!("m{machine}");
        TrialRecord { ran_on: Some(RanOn { host, boot_id: None }), ..trial(number, block, condition, tps, false) }
    };
    (0..75).map(made).collect()
}

#[test]
fn machines_that_differ_do_not_drift_and_each_that_drifts_does() {
    let mut draws = Draws::new(5);
    let of = |level: &dyn Fn(usize, usize) -> f64, draws: &mut Draws| {
        summarize(&results("best", study(level, draws))).run_order.unwrap()
    };
    let apart = of(&|machine, _| 0.06 * machine as f64, &mut draws);
    assert!(!apart.shown() && apart.change.is_none(), "{apart:?}");
    let drifting = of(&|machine, place| 0.06 * machine as f64 + 0.02 * place as f64, &mut draws);
    assert!(drifting.shown() && drifting.correlation > 0.5, "{drifting:?}");
}

/// Machines whose levels and numbers of migrations differ, each by chance.
#[test]
fn what_differs_between_machines_explains_no_trial() {
    let named = |seed: u64| {
        let mut draws = Draws::new(seed);
        let mut own = |sd: f64| -> Vec<f64> { (0..5).map(|_| sd * draws.normal()).collect() };
        let (levels, migrations) = (own(0.03), own(0.5));
        let mut trials = study(|machine, _| levels[machine], &mut draws);
        for trial in &mut trials {
            let of = 200.0 * (migrations[trial.block % 5] + 0.1 * draws.normal()).exp();
            trial.samples[0].covariates.insert("server_migrations".to_owned(), of);
        }
        !summarize(&results("best", trials)).residual_causes.is_empty()
    };
    let wrong = (0..20).filter(|seed| named(*seed)).count();
    assert!(wrong <= 1, "{wrong} of 20");
}

#[test]
fn modes_that_are_machines_have_no_cause_within_them() {
    let mut draws = Draws::new(3);
    let mut trials = study(|machine, _| 0.5 * (machine % 2) as f64, &mut draws);
    for trial in &mut trials {
        let of = [20.0, 200.0][trial.block % 5 % 2];
        trial.samples[0].covariates.insert("server_migrations".to_owned(), of * (0.1 * draws.normal()).exp());
    }
    let found = summarize(&results("best", trials));
    let metrics = || found.conditions.iter().flat_map(|condition| &condition.metrics);
    assert!(metrics().any(|metric| metric.modes.len() > 1), "these trials have modes");
    assert!(metrics().all(|metric| metric.mode_cause.is_none()), "{:?}", found.conditions);
}

#[test]
fn runs_on_other_machines_of_one_kind_say_so() {
    let run = |host: &str| {
        let mut trials = study(|_, _| 0.0, &mut Draws::new(8));
        trials.iter_mut().for_each(|trial| trial.ran_on = Some(RanOn { host: host.to_owned(), boot_id: None }));
        results("best", trials)
    };
    let differ = |a: &str, b: &str| {
        let (a, b) = (run(a), run(b));
        let found = compare(whole(&a), whole(&b), &Options::default()).unwrap().differences;
        found.into_iter().map(|one| (one.what.to_string(), one.a, one.b)).collect::<Vec<_>>()
    };
    assert_eq!(differ("m1", "m2"), [("host".to_owned(), "m1".to_owned(), "m2".to_owned())]);
    assert_eq!(differ("m1", "m1"), []);
}

/// Two runs on the same machines, which differ by a quarter. Of the second run one machine lost a third of its blocks.
#[test]
fn runs_on_the_same_machines_are_compared_within_each() {
    let (mut wrong, mut found, runs) = (0, 0, 20);
    for gain in [0.0, 0.02] {
        for seed in 0..runs {
            let mut draws = Draws::new(900 + seed);
            let run = |gain: f64, draws: &mut Draws| study(|machine, _| 0.06 * machine as f64 + gain, draws);
            let (one, mut other) = (run(0.0, &mut draws), run(gain, &mut draws));
            other.retain(|trial| trial.block % 5 != 4 || trial.block < 15);
            let (one, other) = (results("best", one), results("best", other));
            let compared = compare(whole(&one), whole(&other), &Options::default()).unwrap();
            assert_eq!(compared.metrics.len(), 3);
            for metric in &compared.metrics {
                let ratio = metric.mean_b / metric.mean_a;
                assert!((metric.ratio.unwrap() / ratio - 1.0).abs() < 1e-9, "the table has other means: {metric:?}");
                let claims = usize::from(metric.verdict != Verdict::Inconclusive);
                if gain > 0.0 { found += claims } else { wrong += claims }
            }
        }
    }
    // Together 5% of studies of three metrics, and three standard errors; of 60, all differ by five standard errors.
    assert!(wrong <= 5 && found >= 57, "{wrong} wrong, {found} found");
}

/// Every run has an offset of its own on each machine, as large as the spread of trials.
#[test]
fn what_a_run_has_of_its_own_on_a_machine_is_no_difference() {
    let (mut wrong, runs) = (0, 40);
    for seed in 0..runs {
        let mut draws = Draws::new(300 + seed);
        let run = |draws: &mut Draws| {
            let own: Vec<f64> = (0..5).map(|machine| 0.06 * f64::from(machine) + 0.01 * draws.normal()).collect();
            results("best", study(|machine, _| own[machine], draws))
        };
        let (one, other) = (run(&mut draws), run(&mut draws));
        let compared = compare(whole(&one), whole(&other), &Options { min_effect: 0.0, ..Options::default() }).unwrap();
        wrong += usize::from(compared.metrics.iter().any(|metric| metric.verdict != Verdict::Inconclusive));
        assert!(compared.metrics.iter().all(|metric| metric.left_out == 0), "{:?}", compared.metrics);
    }
    // 5%, and three standard errors; by trials alone it is more than half of them.
    assert!(wrong <= 6, "{wrong} of {runs}");
}
