//! The callers of functions whose time differs: CPU time by call chain, from the same profiles.

use super::chains::{add_chain, between, parts};
use super::changes::NamedChange;
use super::trials::Trials;
use crate::collect::trial_mean;
use crate::time::TrialTime;
use std::collections::{BTreeMap, BTreeSet};
use tare_results::Results;
use tare_results::captures::FOLDED;
use tare_results::server_cost::{Operation, Quantity, SERVER_COSTS};

/// Number of callers in a chain, the nearest ones.
const CALLERS: usize = 4;
/// Limits for readability: chains per function, and functions with chains.
const CHAINS: usize = 3;
const FUNCTIONS: usize = 10;
/// Minimum share of a chain in the function's difference.
const SMALLEST: f64 = 0.1;

/// Function -> chain of callers -> microseconds per transaction.
type Chains = BTreeMap<String, BTreeMap<String, f64>>;

/// Adds the chains that make up the differences of the first functions.
pub(super) fn add(functions: &mut [NamedChange], trials: &Trials<'_, '_>, results: [&Results; 2]) {
    let listed = functions.len().min(FUNCTIONS);
    let functions = &mut functions[..listed];
    let names: BTreeSet<&str> = functions.iter().map(|one| one.name.as_str()).collect();
    if names.is_empty() {
        return;
    }
    let both = of_side(trials.a, results[0], &names).zip(of_side(trials.b, results[1], &names));
    let Some((a, b)) = both else { return };
    let none = BTreeMap::new();
    for function in functions {
        let [in_a, in_b] = [&a, &b].map(|side| side.get(&function.name).unwrap_or(&none));
        let mut chains = between(in_a, in_b);
        chains.retain(|one| (one.b_us - one.a_us) / function.us >= SMALLEST);
        chains.sort_by(|one, other| (other.b_us - other.a_us).abs().total_cmp(&(one.b_us - one.a_us).abs()));
        chains.truncate(CHAINS);
        function.callers = chains;
    }
}

/// The mean over a side's trials that have a recording; none without one.
fn of_side(times: &[TrialTime<'_>], results: &Results, names: &BTreeSet<&str>) -> Option<Chains> {
    let recorded = times.iter().filter_map(|time| {
        let captures = results.captures.get(&(time.trial.trial, time.trial.attempt))?;
        Some((profiled_us(time, results)?, captures.folded(time.trial, FOLDED)?))
    });
    let mut sums = Chains::new();
    let recordings = parts(recorded, |chain, us| {
        if let Some((function, callers)) = split(chain, names) {
            add_chain(sums.entry(function.to_owned()).or_default(), &callers, us);
        }
    });
    sums.values_mut().flat_map(BTreeMap::values_mut).for_each(|us| *us /= recordings as f64);
    (recordings > 0).then_some(sums)
}

/// The last function of a chain, if it is one of `names`, and its nearest callers.
fn split<'c>(chain: &'c str, names: &BTreeSet<&str>) -> Option<(&'c str, String)> {
    let (callers, function) = chain.rsplit_once(';')?;
    let mut nearest: Vec<&str> = callers.rsplit(';').take(CALLERS).collect();
    nearest.reverse();
    names.contains(function).then(|| (function, nearest.join(";")))
}

/// CPU time covered by the profile of a trial, microseconds per transaction; none without a profile.
pub(super) fn profiled_us(time: &TrialTime<'_>, results: &Results) -> Option<f64> {
    let profile = results.captures.get(&(time.trial.trial, time.trial.attempt))?.profile.as_ref()?;
    // A profile of user mode only covers the user part of the CPU time.
    let quantity = if profile.kernel { Quantity::Cpu } else { Quantity::User };
    let cost = SERVER_COSTS.iter().find(|cost| cost.quantity == quantity)?;
    trial_mean(time.trial, cost.metric(Operation::Transaction).name())
}
