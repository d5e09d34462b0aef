//! The trials of both sides with their pairing, and how times and events per transaction differ between them.

use crate::collect::{ConditionTrials, mean, trial_mean};
use crate::confidence::{self, CONFIDENCE};
use crate::rounding;
use crate::time::{Event, TrialTime, events_in_all, events_of_trial};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use tare_results::Results;
use tare_results::metric::TPS;
use tare_results::server_cost::{Operation, Quantity, ServerCost};
use tare_stats::Interval;
use tare_stats::multiple::benjamini_hochberg;
use tare_stats::ratio::{Design, Rounding, Shift, by_block, shift};

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
    /// What rounding hides of the throughput of A and of B, as a part of it. All values are per transaction, and so
    /// as inexact as the number of transactions.
    pub(super) rounding: [Rounding; 2],
}

/// [`Trials::rounding`] of these sides.
pub(super) fn rounding(sides: [&ConditionTrials<'_>; 2]) -> [Rounding; 2] {
    let [a, b] = rounding::of_sides(sides, TPS.name());
    [(a, sides[0]), (b, sides[1])].map(|(hidden, side)| rounding::relative(hidden, side, TPS.name()))
}

/// A cost of the server per transaction.
pub(super) fn cost_of(time: &TrialTime<'_>, quantity: Quantity) -> Option<f64> {
    trial_mean(time.trial, ServerCost::of(quantity)?.metric(Operation::Transaction).name())
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
        let hidden = [(a, self.rounding[0]), (b, self.rounding[1])];
        let hidden = hidden.map(|(values, own)| own.times(mean(values).unwrap_or(0.0).abs()));
        let found = match together {
            Some((a, b)) => shift([&a, &b], hidden, Design::Blocks, CONFIDENCE),
            None => shift([a, b], hidden, self.apart, CONFIDENCE),
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
        ([a, b].map(|values| mean(values).unwrap_or(0.0)), self.shift_of(a, b))
    }
}

/// Number of items without a shown difference that are reported, with their smallest detectable difference.
const NOT_SHOWN: usize = 3;

/// B - A of the time of one function or one statement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NamedChange {
    pub name: String,
    /// Of A, microseconds per transaction.
    pub a_us: f64,
    pub b_us: f64,
    /// B - A, microseconds per transaction.
    pub us: f64,
    /// 95% interval for this item alone.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    /// Probability of such a difference if there is none, adjusted over all items of the kind (false discovery rate).
    pub p_value: f64,
    /// The smallest difference detectable with 80% power, for this item alone.
    pub smallest_us: Option<f64>,
    /// For a shown function: the call chains that reach it, the largest difference first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<ChainTime>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChainTime {
    /// `caller;callee`; for wall-clock time the first element is `ran`, `ready` or `asleep`.
    pub chain: String,
    /// Of A, microseconds per transaction.
    pub a_us: f64,
    pub b_us: f64,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// Items that are shown to differ, the largest difference first.
    pub shown: Vec<NamedChange>,
    /// The items with the largest times among those not shown to differ.
    pub not_shown: Vec<NamedChange>,
    pub tested: usize,
}

impl Changes {
    /// From each trial's microseconds by name; a name missing in a trial counts as 0.
    pub(super) fn of(trials: &Trials<'_, '_>, a: &[BTreeMap<String, f64>], b: &[BTreeMap<String, f64>]) -> Self {
        let names: BTreeSet<&String> = a.iter().chain(b).flat_map(BTreeMap::keys).collect();
        let change = |(name, [a_us, b_us], shift): (&String, [f64; 2], Shift)| NamedChange {
            name: name.clone(),
            a_us,
            b_us,
            us: shift.value,
            ci: shift.ci,
            p_value: shift.p_value,
            smallest_us: shift.smallest,
            callers: Vec::new(),
        };
        let all: Vec<NamedChange> = tested_together(trials, [a, b], names).into_iter().map(change).collect();
        let tested = all.len();
        let (mut shown, mut not_shown): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|one| one.p_value <= FALSE_DISCOVERIES);
        shown.sort_by(|a, b| b.us.abs().total_cmp(&a.us.abs()));
        not_shown.sort_by(|a, b| b.a_us.max(b.b_us).total_cmp(&a.a_us.max(a.b_us)));
        not_shown.truncate(NOT_SHOWN);
        Self { shown, not_shown, tested }
    }
}

/// The means in A and in B and the difference of each key, with p-values adjusted over all of them (false discovery
/// rate). A key missing in a trial counts as 0.
fn tested_together<'k, K: Ord>(
    trials: &Trials<'_, '_>,
    [a, b]: [&[BTreeMap<K, f64>]; 2],
    which: BTreeSet<&'k K>,
) -> Vec<(&'k K, [f64; 2], Shift)> {
    let values = |side: &[BTreeMap<K, f64>], one: &K| -> Vec<f64> {
        side.iter().map(|trial| trial.get(one).copied().unwrap_or(0.0)).collect()
    };
    let change = |one: &'k K| {
        let (means, shift) = trials.means_of(&values(a, one), &values(b, one));
        (one, means, shift)
    };
    let mut all: Vec<(&K, [f64; 2], Shift)> = which.into_iter().map(change).collect();
    let adjusted = benjamini_hochberg(&all.iter().map(|(.., shift)| shift.p_value).collect::<Vec<f64>>());
    all.iter_mut().zip(adjusted).for_each(|((.., shift), p_value)| shift.p_value = p_value);
    all
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventChange {
    #[serde(flatten)]
    pub event: Event,
    pub a: f64,
    pub b: f64,
    pub difference: f64,
    /// 95% interval for this event alone.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    /// Probability of such a difference if there is none, adjusted over all events (false discovery rate).
    pub p_value: f64,
    /// Whether it is shown: the adjusted p-value is at most 5%.
    pub shown: bool,
}

/// The events that every trial of both sides has; empty if a trial counted none.
pub(super) fn events(trials: &Trials<'_, '_>) -> Vec<EventChange> {
    let [a, b] =
        [trials.a, trials.b].map(|side| side.iter().map(events_of_trial).collect::<Vec<BTreeMap<Event, f64>>>());
    let change = |(event, [a, b], shift): (&Event, [f64; 2], Shift)| EventChange {
        event: event.clone(),
        a,
        b,
        difference: shift.value,
        ci: shift.ci,
        p_value: shift.p_value,
        shown: shift.p_value <= FALSE_DISCOVERIES,
    };
    tested_together(trials, [&a, &b], events_in_all(a.iter().chain(&b))).into_iter().map(change).collect()
}
