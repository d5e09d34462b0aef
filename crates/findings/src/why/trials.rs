//! The trials of both sides and their pairing.

use crate::collect::trial_mean;
use crate::confidence::CONFIDENCE;
use crate::time::TrialTime;
use tare_results::Results;
use tare_results::server_cost::{Operation, Quantity, SERVER_COSTS};
use tare_stats::ratio::{Design, Shift, by_block, shift};

/// False discovery rate of parts, functions and events.
pub(super) const FALSE_DISCOVERIES: f64 = 0.05;

/// The means of a count in A and in B, and their difference.
pub(super) type Counts = ([f64; 2], Shift);

pub(crate) struct Trials<'t, 'r> {
    pub(super) a: &'t [TrialTime<'r>],
    pub(super) b: &'t [TrialTime<'r>],
    /// Blocks of A and B, if both ran in the same ones.
    pub(super) blocks: Option<[Vec<usize>; 2]>,
    /// The design of trials that have no blocks in common.
    pub(super) apart: Design<'static>,
}

/// A cost of the server per transaction.
pub(super) fn cost_of(time: &TrialTime<'_>, quantity: Quantity) -> Option<f64> {
    let cost = SERVER_COSTS.iter().find(|cost| cost.quantity == quantity)?;
    trial_mean(time.trial, cost.metric(Operation::Transaction).name())
}

impl Trials<'_, '_> {
    pub(super) fn shift(&self, value: &dyn Fn(&TrialTime<'_>) -> f64) -> Shift {
        self.means(value).1
    }

    /// As [`Trials::shift`], with the means of A and of B.
    pub(super) fn means(&self, value: &dyn Fn(&TrialTime<'_>) -> f64) -> Counts {
        let [a, b] = [self.a, self.b].map(|times| times.iter().map(value).collect::<Vec<f64>>());
        self.means_of(&a, &b)
    }

    /// The difference of values, one per trial in their order.
    pub(super) fn shift_of(&self, a: &[f64], b: &[f64]) -> Shift {
        let none = Shift { value: 0.0, ci: None, p_value: 1.0, smallest: None };
        let numbered = |side: usize, values: &[f64]| -> Option<Vec<(usize, f64)>> {
            Some(self.blocks.as_ref()?[side].iter().copied().zip(values.iter().copied()).collect())
        };
        let together = numbered(0, a).zip(numbered(1, b)).and_then(|(a, b)| by_block(&a, &b));
        let found = match together {
            Some((a, b)) => shift(&a, &b, Design::Blocks, CONFIDENCE),
            None => shift(a, b, self.apart, CONFIDENCE),
        };
        found.unwrap_or(none)
    }

    /// A value of every trial of A and of B, in their order; none if a trial lacks it.
    pub(super) fn each(
        &self,
        results: [&Results; 2],
        of: impl Fn(&TrialTime<'_>, &Results) -> Option<f64>,
    ) -> Option<[Vec<f64>; 2]> {
        let all = |times: &[TrialTime<'_>], results: &Results| -> Option<Vec<f64>> {
            times.iter().map(|time| of(time, results)).collect()
        };
        Some([all(self.a, results[0])?, all(self.b, results[1])?])
    }

    /// Counts of every trial of both sides; none if a trial lacks it.
    pub(super) fn counts(&self, of: &dyn Fn(&TrialTime<'_>) -> Option<f64>) -> Option<Counts> {
        let all = |times: &[TrialTime<'_>]| -> Option<Vec<f64>> { times.iter().map(of).collect() };
        let (a, b) = all(self.a).zip(all(self.b))?;
        Some(self.means_of(&a, &b))
    }

    /// One of the server's costs per transaction.
    pub(super) fn cost(&self, quantity: Quantity) -> Option<Counts> {
        self.counts(&|time| cost_of(time, quantity))
    }

    /// As [`Trials::shift_of`], with the means of A and of B.
    pub(super) fn means_of(&self, a: &[f64], b: &[f64]) -> Counts {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        ([mean(a), mean(b)], self.shift_of(a, b))
    }
}
