//! Times per transaction of many items of one kind (functions or statements), which are tested together.

use super::trials::{FALSE_DISCOVERIES, Trials};
use crate::ends;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use tare_stats::Interval;
use tare_stats::multiple::benjamini_hochberg;
use tare_stats::ratio::Shift;

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
    #[serde(flatten, serialize_with = "ends::ci")]
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
        let all: Vec<NamedChange> = together(trials, [a, b], names).into_iter().map(change).collect();
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
pub(super) fn together<'k, K: Ord>(
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
