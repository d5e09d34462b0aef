//! Functions and statements whose times differ, and the chains by which they were called.
//!
//! Call chains have wall-clock times: running, waiting for a CPU, or asleep. Weights of a recording are shares of the
//! time of the threads that serve connections; here they are converted to microseconds per transaction, so that
//! conditions with different throughput are comparable. Functions of the server are compared by CPU time per
//! transaction, not by shares of a profile: shares add up to one, so that a rise in one lowers all others. Statements,
//! or kinds of transactions, are compared by their wall-clock time per transaction.

use super::model::WhyError;
use super::trials::{ChainTime, Changes, NamedChange, Trials, cost_of};
use crate::collect::ConditionTrials;
use crate::compare::{self, Side};
use crate::time::TrialTime;
use std::collections::{BTreeMap, BTreeSet};
use tare_results::Results;
use tare_results::captures::{FOLDED, WALL};
use tare_results::covariate::CLIENTS_TIMED;
use tare_results::metric::TPS;
use tare_results::schema::{SampleRecord, TrialRecord};
use tare_results::server_cost::Quantity;
use tare_results::waits::CallersSource;

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
    Ok(if a.is_empty() || b.is_empty() { Vec::new() } else { chains_between(&a, &b) })
}

fn chains_between(a: &BTreeMap<String, f64>, b: &BTreeMap<String, f64>) -> Vec<ChainTime> {
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
    let recordings = parts_of_chain(condition.ok.iter().filter_map(|trial| of_trial(trial)), |chain, us| {
        add_chain(&mut sums, chain, us)
    });
    sums.values_mut().for_each(|us| *us /= recordings as f64);
    let mut largest: Vec<(String, f64)> = sums.into_iter().collect();
    largest.sort_by(|a, b| b.1.total_cmp(&a.1));
    largest.truncate(CHAINS);
    largest.into_iter().collect()
}

/// Calls `report` for every chain of the recordings, with its part of the recording's microseconds per transaction.
/// Returns the number of recordings. Only one recording is in memory at a time.
fn parts_of_chain(recorded: impl Iterator<Item = (f64, String)>, mut report: impl FnMut(&str, f64)) -> usize {
    let mut recordings = 0;
    for (us, text) in recorded {
        recordings += 1;
        let whole: f64 = text.lines().filter_map(weighed).map(|(_, weight)| weight).sum();
        text.lines().filter_map(weighed).for_each(|(chain, weight)| report(chain, weight * us / whole));
    }
    recordings
}

/// Adds to a chain; a new chain is added only below the limit, which real recordings do not reach.
fn add_chain(sums: &mut BTreeMap<String, f64>, chain: &str, us: f64) {
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

/// Number of callers in a chain, the nearest ones.
const CALLERS: usize = 4;
/// Limits for readability: chains per function, and functions with chains.
const CHAINS_OF_FUNCTION: usize = 3;
const FUNCTIONS: usize = 10;
/// Minimum share of a chain in the function's difference.
const SMALLEST: f64 = 0.1;

/// Function -> chain of callers -> microseconds per transaction.
type Chains = BTreeMap<String, BTreeMap<String, f64>>;

/// Adds the chains that make up the differences of the first functions.
fn add_callers(functions: &mut [NamedChange], trials: &Trials<'_, '_>, results: [&Results; 2]) {
    let listed = functions.len().min(FUNCTIONS);
    let functions = &mut functions[..listed];
    let names: BTreeSet<&str> = functions.iter().map(|one| one.name.as_str()).collect();
    if names.is_empty() {
        return;
    }
    let both = callers_of_side(trials.a, results[0], &names).zip(callers_of_side(trials.b, results[1], &names));
    let Some((a, b)) = both else { return };
    let none = BTreeMap::new();
    for function in functions {
        let [in_a, in_b] = [&a, &b].map(|side| side.get(&function.name).unwrap_or(&none));
        let mut chains = chains_between(in_a, in_b);
        chains.retain(|one| (one.b_us - one.a_us) / function.us >= SMALLEST);
        chains.sort_by(|one, other| (other.b_us - other.a_us).abs().total_cmp(&(one.b_us - one.a_us).abs()));
        chains.truncate(CHAINS_OF_FUNCTION);
        function.callers = chains;
    }
}

/// The mean over a side's trials that have a recording; none without one.
fn callers_of_side(times: &[TrialTime<'_>], results: &Results, names: &BTreeSet<&str>) -> Option<Chains> {
    let recorded = times.iter().filter_map(|time| {
        let captures = results.captures.get(&(time.trial.trial, time.trial.attempt))?;
        Some((profiled_us(time, results)?, captures.folded(time.trial, FOLDED)?))
    });
    let mut sums = Chains::new();
    let recordings = parts_of_chain(recorded, |chain, us| {
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
    cost_of(time, quantity)
}

/// Prefix of the metrics with the mean time of one statement, milliseconds.
const MEAN: &str = "latency_ms_mean_of_";
const COUNTS: [&str; 2] = ["statement_executions_", "tpcc_transactions_"];

/// The functions by their CPU time, with the callers of those that differ. Every trial of both sides needs its profile.
pub(super) fn functions(trials: &Trials<'_, '_>, results: [&Results; 2]) -> Changes {
    let of = |times: &[TrialTime<'_>], results: &Results| -> Option<Vec<BTreeMap<String, f64>>> {
        times.iter().map(|time| functions_of(time, results)).collect()
    };
    let both = of(trials.a, results[0]).zip(of(trials.b, results[1]));
    let mut changes = both.map_or_else(Changes::default, |(a, b)| Changes::of(trials, &a, &b));
    add_callers(&mut changes.shown, trials, results);
    changes
}

/// CPU time inside each function, microseconds per transaction; none without a profile.
fn functions_of(time: &TrialTime<'_>, results: &Results) -> Option<BTreeMap<String, f64>> {
    let cpu_us = profiled_us(time, results)?;
    let profile = results.captures.get(&(time.trial.trial, time.trial.attempt))?.profile.as_ref()?;
    Some(profile.symbols.iter().map(|symbol| (symbol.symbol.clone(), symbol.self_fraction * cpu_us)).collect())
}

/// The statements by their time. With fewer than two statements, the transactions themselves are enough.
pub(super) fn statements(trials: &Trials<'_, '_>) -> Changes {
    let of = |times: &[TrialTime<'_>]| -> Vec<BTreeMap<String, f64>> { times.iter().map(statements_of).collect() };
    let (a, b) = (of(trials.a), of(trials.b));
    let several = a.iter().chain(&b).all(|trial| trial.len() > 1);
    if several { Changes::of(trials, &a, &b) } else { Changes::default() }
}

/// Wall-clock time of each statement, microseconds per transaction.
fn statements_of(time: &TrialTime<'_>) -> BTreeMap<String, f64> {
    let (mut us, mut transactions) = (BTreeMap::<String, f64>::new(), 0.0);
    for sample in &time.trial.samples {
        let Some(tps) = sample.metrics.get(TPS.name()) else { continue };
        transactions += tps * sample.elapsed_s;
        // A statement that still ran at the end of the sample is counted in full, and so is its time.
        let timed_s = sample.covariates.get(CLIENTS_TIMED).filter(|timed_s| **timed_s > 0.0);
        let within = timed_s.map_or(1.0, |timed_s| time.clients as f64 * sample.elapsed_s / timed_s);
        for (metric, mean_ms) in &sample.metrics {
            let Some(name) = metric.strip_prefix(MEAN) else { continue };
            *us.entry(name.to_owned()).or_default() += 1000.0 * mean_ms * count(sample, name) * within;
        }
    }
    us.values_mut().for_each(|all| *all /= transactions);
    us.retain(|_, each| each.is_finite());
    // Earlier programs did not record that time.
    let beyond = us.values().sum::<f64>() / time.us;
    if beyond > 1.0 {
        us.values_mut().for_each(|each| *each /= beyond);
    }
    if us.is_empty() { of_capture_sample(time).unwrap_or_default() } else { us }
}

/// For loads that time their statements in the capture sample only: the shares of a transaction's time are taken to be
/// those of the capture sample.
fn of_capture_sample(time: &TrialTime<'_>) -> Option<BTreeMap<String, f64>> {
    let sample = time.trial.capture_sample.as_ref()?;
    let share_of_us = sample.tps / (1e6 * time.clients as f64);
    Some(sample.statement_us.iter().map(|(name, us)| (name.clone(), time.us * us * share_of_us)).collect())
}

fn count(sample: &SampleRecord, name: &str) -> f64 {
    COUNTS.iter().find_map(|counts| sample.covariates.get(&format!("{counts}{name}"))).copied().unwrap_or(0.0)
}

/// Number of functions in a chain, the nearest ones. The far ends of deep stacks differ from trial to trial.
const NEAREST: usize = 6;

/// Requires the chains of every trial of both sides, all from the same source, because the sources see different
/// frames.
pub(super) fn sleeps(trials: &Trials<'_, '_>, results: [&Results; 2]) -> Changes {
    let of = |times: &[TrialTime<'_>], results: &Results| -> Option<Vec<(CallersSource, BTreeMap<String, f64>)>> {
        times.iter().map(|time| sleeps_of_trial(time, results)).collect()
    };
    let both = of(trials.a, results[0]).zip(of(trials.b, results[1]));
    let Some((a, b)) = both else { return Changes::default() };
    let mut sources = a.iter().chain(&b).map(|(source, _)| *source);
    let first = sources.next();
    if sources.any(|source| Some(source) != first) {
        return Changes::default();
    }
    let [a, b] = [a, b].map(|side| side.into_iter().map(|(_, us)| us).collect::<Vec<_>>());
    Changes::of(trials, &a, &b)
}

/// Microseconds per transaction by chain, assuming the same shares of the time as in the capture sample.
fn sleeps_of_trial(time: &TrialTime<'_>, results: &Results) -> Option<(CallersSource, BTreeMap<String, f64>)> {
    let (source, callers) = results.captures.get(&(time.trial.trial, time.trial.attempt))?.callers()?;
    let mut us = BTreeMap::<String, f64>::new();
    for one in callers {
        *us.entry(nearest(&one.chain)).or_default() += time.us * one.fraction;
    }
    Some((source, us))
}

/// The end of a chain; consecutive unnamed functions count as one.
fn nearest(chain: &str) -> String {
    let mut functions: Vec<&str> = chain.rsplit(';').collect();
    functions.dedup();
    functions.truncate(NEAREST);
    functions.reverse();
    functions.join(";")
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
        assert_eq!(parts_of_chain(recorded, |chain, _| collected.borrow_mut().push(chain.to_owned())), 3);
        assert_eq!(*collected.borrow(), ["read 1", "chain-1", "read 2", "chain-2", "read 3", "chain-3"]);
    }

    #[test]
    fn chains_of_either_side_are_there() {
        let side = |chains: &[(&str, f64)]| chains.iter().map(|(chain, us)| ((*chain).to_owned(), *us)).collect();
        let (a, b) =
            (side(&[("ran;main", 3.0), ("asleep;flush", 1.0)]), side(&[("ran;main", 5.0), ("asleep;row", 2.0)]));
        let found: Vec<(String, f64, f64)> =
            chains_between(&a, &b).into_iter().map(|one| (one.chain, one.a_us, one.b_us)).collect();
        let expected = [("asleep;flush", 1.0, 0.0), ("ran;main", 3.0, 5.0), ("asleep;row", 0.0, 2.0)];
        assert_eq!(found, expected.map(|(chain, a, b)| (chain.to_owned(), a, b)));
        assert_eq!(chains_between(&a, &BTreeMap::new()).len(), 2);
        assert_eq!((weighed("a;b c 3"), weighed("no weight"), weighed("x -1")), (Some(("a;b c", 3.0)), None, None));
    }
}
