//! The run-order check: do trials resemble the ones before them.

use super::collect::ConditionTrials;
use super::composite::Composite;
use super::confidence::FURTHER;
use serde::Serialize;
use tare_stats::descriptive::mean;
use tare_stats::serial;

/// Fixed, so that the same results always read the same.
pub(super) const SEED: u64 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Drift {
    /// Correlation of a trial with the one before it, what conditions explain taken out; 0 when there is none.
    pub correlation: f64,
    /// Chance that trials without order look so.
    pub p_value: f64,
    /// Change of the last third of the run against the first, as a fraction.
    pub change: Option<f64>,
    pub trials: usize,
}

impl Drift {
    /// Whether the trials are shown to resemble each other.
    pub fn shown(&self) -> bool {
        self.p_value <= FURTHER
    }
}

/// What conditions leave of each trial, in the order the trials ran.
pub(super) fn residuals(conditions: &[ConditionTrials<'_>], composite: &Composite) -> Vec<f64> {
    let mut left: Vec<(usize, u32, f64)> = Vec::new();
    for (condition, cell) in conditions.iter().zip(&composite.cells) {
        let Some(centre) = mean(&cell.iter().map(|(_, ln)| *ln).collect::<Vec<_>>()) else { continue };
        left.extend(condition.ok.iter().zip(cell).map(|(t, (_, ln))| (t.trial, t.attempt, ln - centre)));
    }
    left.sort_by_key(|(trial, attempt, _)| (*trial, *attempt));
    left.into_iter().map(|(_, _, residual)| residual).collect()
}

/// The check of one run; none where its trials have no known order, or are too few.
pub(super) fn check(conditions: &[ConditionTrials<'_>], composite: &Composite) -> Option<Drift> {
    let left = residuals(conditions, composite);
    let found = serial::run_order(&left, SEED)?;
    let levels: Vec<f64> = left.iter().map(|ln| ln.exp()).collect();
    Some(Drift {
        correlation: found.correlation,
        p_value: found.p_value,
        change: serial::drift(&levels),
        trials: found.trials,
    })
}
