//! Functions that the threads that serve connections sleep in, by caller: wall-clock time per transaction.

use super::changes::Changes;
use super::trials::Trials;
use crate::time::TrialTime;
use std::collections::BTreeMap;
use tare_results::Results;
use tare_results::waits::CallersSource;

/// Number of functions in a chain, the nearest ones. The far ends of deep stacks differ from trial to trial.
const NEAREST: usize = 6;

/// Requires the chains of every trial of both sides, all from the same source, because the sources see different
/// frames.
pub(super) fn sleeps(trials: &Trials<'_, '_>, results: [&Results; 2]) -> Changes {
    let of = |times: &[TrialTime<'_>], results: &Results| -> Option<Vec<(CallersSource, BTreeMap<String, f64>)>> {
        times.iter().map(|time| of_trial(time, results)).collect()
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
fn of_trial(time: &TrialTime<'_>, results: &Results) -> Option<(CallersSource, BTreeMap<String, f64>)> {
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
