//! Wall-clock time by call chain, of A and of B: running, waiting for a CPU, or asleep. Weights of a recording are
//! shares of the time of the threads that serve connections; here they are converted to microseconds per transaction,
//! so that conditions with different throughput are comparable.

use super::changes::ChainTime;
use super::model::WhyError;
use crate::collect::ConditionTrials;
use crate::compare::{self, Side};
use crate::time::TrialTime;
use std::collections::BTreeMap;
use tare_results::Results;
use tare_results::captures::WALL;
use tare_results::schema::TrialRecord;

/// Maximum number of chains per side; smaller ones are invisible in a graph.
const CHAINS: usize = 4_000;
/// Maximum number of distinct chains per side that are summed.
const DIFFERENT: usize = 1_000_000;

/// Every chain of either side, by name; empty if a side has no recording (`capture.waits`).
pub fn chains(a: Side<'_>, b: Side<'_>) -> Result<Vec<ChainTime>, WhyError> {
    let (of_a, of_b) = (compare::run_of(a)?, compare::run_of(b)?);
    let matched = compare::matched(&of_a, &of_b)?;
    let [(one, other)] = matched.as_slice() else {
        return Err(WhyError::Several { names: matched.iter().map(|(a, _)| a.name.to_owned()).collect() });
    };
    let (a, b) = (of_condition(one, a.results), of_condition(other, b.results));
    Ok(if a.is_empty() || b.is_empty() { Vec::new() } else { between(&a, &b) })
}

pub(super) fn between(a: &BTreeMap<String, f64>, b: &BTreeMap<String, f64>) -> Vec<ChainTime> {
    let of = |side: &BTreeMap<String, f64>, chain: &str| side.get(chain).copied().unwrap_or(0.0);
    let only_b = b.keys().filter(|chain| !a.contains_key(*chain));
    let all = a.keys().chain(only_b);
    all.map(|chain| ChainTime { chain: chain.clone(), a_us: of(a, chain), b_us: of(b, chain) }).collect()
}

/// The mean over the condition's trials that have a recording.
fn of_condition(condition: &ConditionTrials<'_>, results: &Results) -> BTreeMap<String, f64> {
    let of_trial = |trial: &TrialRecord| {
        let captures = results.captures.get(&(trial.trial, trial.attempt))?;
        Some((TrialTime::of(trial, None)?.us, captures.folded(trial, WALL)?))
    };
    let mut sums = BTreeMap::<String, f64>::new();
    let recordings =
        parts(condition.ok.iter().filter_map(|trial| of_trial(trial)), |chain, us| add_chain(&mut sums, chain, us));
    sums.values_mut().for_each(|us| *us /= recordings as f64);
    let mut largest: Vec<(String, f64)> = sums.into_iter().collect();
    largest.sort_by(|a, b| b.1.total_cmp(&a.1));
    largest.truncate(CHAINS);
    largest.into_iter().collect()
}

/// Calls `report` for every chain of the recordings, with its part of the recording's microseconds per transaction.
/// Returns the number of recordings. Only one recording is in memory at a time.
pub(super) fn parts(recorded: impl Iterator<Item = (f64, String)>, mut report: impl FnMut(&str, f64)) -> usize {
    let mut recordings = 0;
    for (us, text) in recorded {
        recordings += 1;
        let whole: f64 = text.lines().filter_map(weighed).map(|(_, weight)| weight).sum();
        text.lines().filter_map(weighed).for_each(|(chain, weight)| report(chain, weight * us / whole));
    }
    recordings
}

/// Adds to a chain; a new chain is added only below the limit, which real recordings do not reach.
pub(super) fn add_chain(sums: &mut BTreeMap<String, f64>, chain: &str, us: f64) {
    let is_room = sums.len() < DIFFERENT;
    match sums.get_mut(chain) {
        Some(sum) => *sum += us,
        None if is_room => drop(sums.insert(chain.to_owned(), us)),
        None => {}
    }
}

fn weighed(line: &str) -> Option<(&str, f64)> {
    let (chain, weight) = line.rsplit_once(' ')?;
    Some((chain, weight.parse().ok().filter(|weight: &f64| weight.is_finite() && *weight > 0.0)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recording may have 64 MiB, and there may be thousands: only one may be in memory at a time.
    #[test]
    fn recordings_are_read_one_at_a_time() {
        let collected = std::cell::RefCell::new(Vec::new());
        let recorded = (1..=3).map(|number| {
            collected.borrow_mut().push(format!("read {number}"));
            (1.0, format!("chain-{number} 1"))
        });
        assert_eq!(parts(recorded, |chain, _| collected.borrow_mut().push(chain.to_owned())), 3);
        assert_eq!(*collected.borrow(), ["read 1", "chain-1", "read 2", "chain-2", "read 3", "chain-3"]);
    }

    #[test]
    fn chains_of_either_side_are_there() {
        let side = |chains: &[(&str, f64)]| chains.iter().map(|(chain, us)| ((*chain).to_owned(), *us)).collect();
        let (a, b) =
            (side(&[("ran;main", 3.0), ("asleep;flush", 1.0)]), side(&[("ran;main", 5.0), ("asleep;row", 2.0)]));
        let found: Vec<(String, f64, f64)> =
            between(&a, &b).into_iter().map(|one| (one.chain, one.a_us, one.b_us)).collect();
        let expected = [("asleep;flush", 1.0, 0.0), ("ran;main", 3.0, 5.0), ("asleep;row", 0.0, 2.0)];
        assert_eq!(found, expected.map(|(chain, a, b)| (chain.to_owned(), a, b)));
        assert_eq!(between(&a, &BTreeMap::new()).len(), 2);
        assert_eq!((weighed("a;b c 3"), weighed("no weight"), weighed("x -1")), (Some(("a;b c", 3.0)), None, None));
    }
}
