//! The run-order check: whether consecutive trials are correlated.

use super::collect::ConditionTrials;
use super::composite::Composite;
use super::confidence::FURTHER;
use super::hosts;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use tare_results::schema::TrialRecord;
use tare_stats::descriptive::mean;
use tare_stats::serial;

/// Fixed, so that the same results always give the same output.
pub(super) const SEED: u64 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Drift {
    /// Correlation of a trial with the previous one, without the effects of conditions; 0 if there is none.
    pub correlation: f64,
    /// Probability of such a correlation without any effect of the order.
    pub p_value: f64,
    /// Relative change from the first to the last third of the run.
    pub change: Option<f64>,
    pub trials: usize,
}

impl Drift {
    /// Whether consecutive trials are shown to be correlated.
    pub fn shown(&self) -> bool {
        self.p_value <= FURTHER
    }
}

/// The residual of each trial after the effects of conditions, in the order of the run, with the number of its
/// condition.
pub(super) fn residuals(conditions: &[ConditionTrials<'_>], composite: &Composite) -> Vec<(usize, f64)> {
    let left = left_over(conditions, composite, |_| "");
    left.into_iter().map(|((.., number), residual)| (number, residual)).collect()
}

/// The machine of a trial, its number and attempt, and the number of its condition.
type Place<'m> = (&'m str, usize, u32, usize);

/// The residual of each trial after the effects of conditions on its machine, in the order of the run, one machine
/// after the other.
fn left_over<'r>(
    conditions: &[ConditionTrials<'r>],
    composite: &Composite,
    machine: impl Fn(&'r TrialRecord) -> &'r str,
) -> Vec<(Place<'r>, f64)> {
    let mut left: Vec<(Place<'r>, f64)> = Vec::new();
    for (number, condition) in conditions.iter().enumerate() {
        let mut machines: BTreeMap<&str, Vec<(Place<'r>, f64)>> = BTreeMap::new();
        for (trial, (_, ln)) in composite.trials(number, condition) {
            let own = machine(trial);
            machines.entry(own).or_default().push(((own, trial.trial, trial.attempt, number), ln));
        }
        for own in machines.into_values() {
            let Some(centre) = mean(&own.iter().map(|(_, ln)| *ln).collect::<Vec<_>>()) else { continue };
            left.extend(own.into_iter().map(|(place, ln)| (place, ln - centre)));
        }
    }
    left.sort_by_key(|(place, _)| *place);
    left
}

/// The check of one run; none if the order of its trials is unknown, or there are too few. Machines that share a study
/// are checked together, each trial against the one before it on its machine: a machine that is faster than the others
/// does not drift.
pub(super) fn check(conditions: &[ConditionTrials<'_>], composite: &Composite) -> Option<Drift> {
    let left = left_over(conditions, composite, hosts::host);
    let machines: BTreeSet<&str> = left.iter().map(|((machine, ..), _)| *machine).collect();
    let of_machine: BTreeMap<&str, usize> =
        machines.iter().enumerate().map(|(at, machine)| (*machine, at * conditions.len())).collect();
    let numbered = |((machine, .., number), ln): &(Place<'_>, f64)| Some((of_machine.get(machine)? + number, *ln));
    let series: Vec<(usize, f64)> = left.iter().filter_map(numbered).collect();
    let found = serial::run_order_of(&series, SEED)?;
    // Machines run at the same time, so the trials of several have no first and last third.
    let levels: Vec<f64> = if machines.len() == 1 { left.iter().map(|(_, ln)| ln.exp()).collect() } else { Vec::new() };
    Some(Drift {
        correlation: found.correlation,
        p_value: found.p_value,
        change: serial::drift(&levels),
        trials: found.trials,
    })
}
