//! What else changed where a step of a history line may be.

use super::model::{ChangedFact, Place};
use super::run::Run;
use crate::differences::{self, What};

/// A fact that differs between more than this share of all neighbouring runs does not explain a single step.
const RESTLESS: f64 = 0.5;

/// Facts that change from the last run that is before the step to the first one that is after it, at each run where
/// they do: those first that change least often elsewhere, then those nearest to the estimated place. None if one of
/// the two records no facts, as a CSV file; such runs between them are passed over. Facts that change all the time,
/// such as the load average, are left out.
pub(super) fn changed(runs: &[&Run], place: &Place) -> Option<Vec<ChangedFact>> {
    let within = runs.get(place.earliest.checked_sub(1)?..=place.latest)?;
    if !within.first().is_some_and(|run| records(run)) || !within.last().is_some_and(|run| records(run)) {
        return None;
    }
    let recording: Vec<(usize, &Run)> =
        (place.earliest - 1..).zip(within.iter().copied()).filter(|(_, run)| records(run)).collect();
    let mut weighed: Vec<((usize, usize), ChangedFact)> = Vec::new();
    for two in recording.windows(2) {
        let [(_, before), (at, after)] = two else { continue };
        let found = differences::of_facts(&before.facts, &after.facts);
        for difference in found.into_iter().filter(|difference| !difference.what.is_load()) {
            let times = times_changed(runs, &difference.what);
            if times == 1 || (times as f64) <= RESTLESS * (runs.len() - 1) as f64 {
                let rank = (times, at.abs_diff(place.first_after));
                weighed.push((rank, ChangedFact { difference, at: *at }));
            }
        }
    }
    weighed.sort_by_key(|(rank, _)| *rank);
    Some(weighed.into_iter().map(|(_, fact)| fact).collect())
}

fn records(run: &Run) -> bool {
    run.facts.iter().any(|(_, value)| !value.is_empty())
}

fn times_changed(runs: &[&Run], what: &What) -> usize {
    let value = |run: &Run| run.facts.iter().find(|(name, _)| name == what).map(|(_, value)| value.clone());
    runs.windows(2).filter(|pair| value(pair[0]) != value(pair[1])).count()
}
