//! The run-order check: whether consecutive trials are correlated.

use super::collect::ConditionTrials;
use super::composite::Composite;
use super::confidence::FURTHER;
use serde::Serialize;
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
    let mut left: Vec<((usize, u32), (usize, f64))> = Vec::new();
    for (number, condition) in conditions.iter().enumerate() {
        let own: Vec<_> = composite.trials(number, condition).collect();
        let Some(centre) = mean(&own.iter().map(|(_, (_, ln))| *ln).collect::<Vec<_>>()) else { continue };
        left.extend(own.iter().map(|(t, (_, ln))| ((t.trial, t.attempt), (number, ln - centre))));
    }
    left.sort_by_key(|(order, _)| *order);
    left.into_iter().map(|(_, residual)| residual).collect()
}

/// The check of one run; none if the order of its trials is unknown, or there are too few.
pub(super) fn check(conditions: &[ConditionTrials<'_>], composite: &Composite) -> Option<Drift> {
    let left = residuals(conditions, composite);
    let found = serial::run_order_of(&left, SEED)?;
    let levels: Vec<f64> = left.iter().map(|(_, ln)| ln.exp()).collect();
    Some(Drift {
        correlation: found.correlation,
        p_value: found.p_value,
        change: serial::drift(&levels),
        trials: found.trials,
    })
}
