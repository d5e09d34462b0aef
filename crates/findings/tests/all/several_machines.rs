//! Studies whose blocks ran on several machines.

use crate::draws::Draws;
use crate::made_up::{results, trial};
use tare_findings::summarize;
use tare_results::schema::{RanOn, TrialRecord};

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
