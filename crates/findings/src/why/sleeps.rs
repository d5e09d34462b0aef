//! What the threads that serve connections sleep in, by who called it: wall-clock time a transaction.

use super::changes::Changes;
use super::trials::Trials;
use crate::time::TrialTime;
use std::collections::BTreeMap;
use tare_results::Results;

/// Functions that make a chain: the nearest. The ends of deep stacks differ from trial to trial.
const NEAREST: usize = 6;

/// Every trial of both sides needs its chains.
pub(super) fn sleeps(trials: &Trials<'_, '_>, results: [&Results; 2]) -> Changes {
    let of = |times: &[TrialTime<'_>], results: &Results| -> Option<Vec<BTreeMap<String, f64>>> {
        times.iter().map(|time| of_trial(time, results)).collect()
    };
    let both = of(trials.a, results[0]).zip(of(trials.b, results[1]));
    both.map_or_else(Changes::default, |(a, b)| Changes::of(trials, &a, &b))
}

/// Microseconds a transaction by chain, as the same share of the time as in the capture sample.
fn of_trial(time: &TrialTime<'_>, results: &Results) -> Option<BTreeMap<String, f64>> {
    let wakes = results.captures.get(&(time.trial.trial, time.trial.attempt))?.wakes.as_ref()?;
    let mut us = BTreeMap::<String, f64>::new();
    for one in &wakes.callers {
        *us.entry(nearest(&one.chain)).or_default() += time.us * one.fraction;
    }
    (!us.is_empty()).then_some(us)
}

/// The end of a chain; what has no name counts once, however deep it is.
fn nearest(chain: &str) -> String {
    let mut functions: Vec<&str> = chain.rsplit(';').collect();
    functions.dedup();
    functions.truncate(NEAREST);
    functions.reverse();
    functions.join(";")
}
