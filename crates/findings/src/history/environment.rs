//! What else changed at a step of a history line.

use super::run::Run;
use crate::differences::{self, Difference, What};

/// A fact that differs between more than this share of all neighbouring runs does not explain a single step.
const RESTLESS: f64 = 0.5;

/// Facts that differ between the last run before the step and the first one after it, those first that change least
/// often elsewhere; none if one of the two records no facts, as a CSV file. Facts that change all the time, such as the
/// load average, are left out.
pub(super) fn changed(runs: &[&Run], first_after: usize) -> Option<Vec<Difference>> {
    let (before, after) = (runs.get(first_after.checked_sub(1)?)?, runs.get(first_after)?);
    let records = |run: &Run| run.facts.iter().any(|(_, value)| !value.is_empty());
    if !records(before) || !records(after) {
        return None;
    }
    let found = differences::of_facts(&before.facts, &after.facts);
    let mut weighed: Vec<(usize, Difference)> = found
        .into_iter()
        .filter(|difference| !difference.what.is_load())
        .map(|difference| (times_changed(runs, &difference.what), difference))
        .filter(|(times, _)| *times == 1 || (*times as f64) <= RESTLESS * (runs.len() - 1) as f64)
        .collect();
    weighed.sort_by_key(|(times, _)| *times);
    Some(weighed.into_iter().map(|(_, difference)| difference).collect())
}

fn times_changed(runs: &[&Run], what: &What) -> usize {
    let value = |run: &Run| run.facts.iter().find(|(name, _)| name == what).map(|(_, value)| value.clone());
    runs.windows(2).filter(|pair| value(pair[0]) != value(pair[1])).count()
}
