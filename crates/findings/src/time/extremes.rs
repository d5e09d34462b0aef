//! Selects the two most different conditions.

use super::condition::ConditionTime;
use crate::confidence::CONFIDENCE;
use std::collections::BTreeMap;

/// The fastest condition and the slowest, by the time of a transaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extremes<'t> {
    pub fastest: &'t ConditionTime,
    pub slowest: &'t ConditionTime,
    /// Number of conditions that they were selected from.
    pub of: usize,
    /// Whether all of these have the same number of clients.
    pub alike: bool,
}

/// Selects the pair that lies farthest apart among conditions with the same number of clients, or among all if no two
/// have the same number; none with fewer than two conditions.
pub fn extremes(times: &[ConditionTime]) -> Option<Extremes<'_>> {
    let mut groups: BTreeMap<usize, Vec<&ConditionTime>> = BTreeMap::new();
    for time in times {
        groups.entry(time.clients).or_default().push(time);
    }
    let apart = |one: &Extremes<'_>| one.slowest.us_per_transaction / one.fastest.us_per_transaction;
    let alike = groups.values().filter_map(|group| Extremes::of(group, true));
    let farthest = alike.max_by(|a, b| apart(a).total_cmp(&apart(b)));
    farthest.or_else(|| Extremes::of(&times.iter().collect::<Vec<_>>(), false))
}

impl<'t> Extremes<'t> {
    fn of(times: &[&'t ConditionTime], alike: bool) -> Option<Self> {
        let by_time = |a: &&ConditionTime, b: &&ConditionTime| a.us_per_transaction.total_cmp(&b.us_per_transaction);
        let all = || times.iter().copied();
        let (fastest, slowest) = all().min_by(by_time).zip(all().max_by(by_time))?;
        let of = times.len();
        (of > 1).then_some(Self { fastest, slowest, of, alike })
    }

    /// Whether a difference with this p-value is shown: it is adjusted for the number of pairs, because the two were
    /// selected as the most different.
    pub fn differ(&self, p_value: f64) -> bool {
        let pairs = self.of * (self.of - 1) / 2;
        p_value * pairs as f64 <= 1.0 - CONFIDENCE
    }
}
