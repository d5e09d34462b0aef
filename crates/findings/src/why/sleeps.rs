//! What the threads that serve connections sleep in, by who called it: wall-clock time a transaction.

use super::changes::Changes;
use super::trials::Trials;
use crate::time::TrialTime;
use std::collections::BTreeMap;
use tare_results::Results;
use tare_results::waits::CallersSource;

/// Functions that make a chain: the nearest. The ends of deep stacks differ from trial to trial.
const NEAREST: usize = 6;

/// Every trial of both sides needs its chains, and all of them found in the same way: one way sees frames that the
/// other does not.
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

/// Microseconds a transaction by chain, as the same share of the time as in the capture sample.
fn of_trial(time: &TrialTime<'_>, results: &Results) -> Option<(CallersSource, BTreeMap<String, f64>)> {
    let (source, callers) = results.captures.get(&(time.trial.trial, time.trial.attempt))?.callers()?;
    let mut us = BTreeMap::<String, f64>::new();
    for one in callers {
        *us.entry(nearest(&one.chain)).or_default() += time.us * one.fraction;
    }
    Some((source, us))
}

/// The end of a chain; what has no name counts once, however deep it is.
fn nearest(chain: &str) -> String {
    let mut functions: Vec<&str> = chain.rsplit(';').collect();
    functions.dedup();
    functions.truncate(NEAREST);
    functions.reverse();
    functions.join(";")
}
