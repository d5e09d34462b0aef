//! Named items below the parts. Functions of the server are compared by CPU time per transaction, not by shares of a
//! profile: shares add up to one, so that a rise in one lowers all others. Statements, or kinds of transactions, are
//! compared by their wall-clock time per transaction.

use super::callers::{self, profiled_us};
use super::changes::Changes;
use super::trials::Trials;
use crate::time::TrialTime;
use std::collections::BTreeMap;
use tare_results::Results;
use tare_results::covariate::CLIENTS_TIMED;
use tare_results::metric::TPS;
use tare_results::schema::SampleRecord;

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
    callers::add(&mut changes.shown, trials, results);
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
