//! The two conditions whose difference says most.

use super::condition::ConditionTime;
use crate::confidence::CONFIDENCE;
use std::collections::BTreeMap;

/// The fastest condition and the slowest, by the time of a transaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extremes<'t> {
    pub fastest: &'t ConditionTime,
    pub slowest: &'t ConditionTime,
    /// Conditions that they are the fastest and the slowest of.
    pub of: usize,
    /// Whether all of these have as many clients.
    pub alike: bool,
}

/// Of the conditions with one number of clients, that whose two lie farthest apart; of all where no two have as many;
/// none of fewer than two.
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

    /// Whether a difference of theirs with this chance is shown: they were chosen among all pairs for lying far apart.
    pub fn differ(&self, p_value: f64) -> bool {
        let pairs = self.of * (self.of - 1) / 2;
        p_value * pairs as f64 <= 1.0 - CONFIDENCE
    }
}
