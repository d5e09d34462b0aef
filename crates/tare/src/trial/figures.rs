//! Checks which figures of a sample are valid: a user's program or another host may report any value.

use super::TrialError;
use std::collections::BTreeSet;
use tare_results::metric::{self, Better};
use tare_results::schema::{SampleRecord, TrialRecord};

/// More events per second than any client can complete: one transaction or query per nanosecond.
const MOST_PER_S: f64 = 1e9;

/// Fails the trial if a figure is no number or impossible, or a throughput not above 0. `done` is the operation count.
pub(super) fn check(sample: &SampleRecord, done: Option<f64>, threads: usize) -> Result<(), TrialError> {
    let most = MOST_PER_S * threads as f64;
    let is_result = |name: &str, value: f64| {
        let described = metric::describe(name);
        let is_work = described.unit == "1/s" || described.is_primary() && described.better == Better::Higher;
        // The meaning of the study's own metrics is unknown, and tare itself counts the rounds of the counters.
        let is_known = metric::is_declared(name) && name != metric::ROUNDS_PER_S.name();
        let possible = match described.unit {
            "1/s" if is_known => 0.0..=most,
            "1/min" if is_known => 0.0..=60.0 * most,
            "s" | "ms" | "us" | "ns" | "bytes" if is_known => 0.0..=f64::MAX,
            _ => f64::MIN..=f64::MAX,
        };
        possible.contains(&value) && (value > 0.0 || !is_work)
    };
    let none =
        |metric: &str, value| Err(TrialError::NoResult { sample: sample.sample, metric: metric.to_owned(), value });
    if let Some(done) = done.filter(|done| !(0.0..=most * sample.elapsed_s).contains(done)) {
        return none("the number of transactions", done);
    }
    match sample.metrics.iter().find(|(name, value)| !is_result(name, **value)) {
        Some((name, value)) => none(name, *value),
        None => Ok(()),
    }
}

/// Records the programs of a sample's client: they must be the same in all samples of a trial.
pub(super) fn note_client(programs: BTreeSet<String>, record: &mut TrialRecord) -> Result<(), TrialError> {
    if record.client_programs.is_empty() {
        record.client_programs = programs;
    } else if record.client_programs != programs {
        return Err(TrialError::ClientExchanged);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_that_no_client_can_achieve_are_refused() {
        let says = |name: &str, value: f64| {
            let metrics = [(name.to_owned(), value)].into();
            check(&SampleRecord { elapsed_s: 2.0, metrics, ..SampleRecord::default() }, None, 4)
        };
        for name in ["tps", "qps", "nopm"] {
            for wrong in [0.0, -1.0, 1e308, f64::NAN, f64::INFINITY] {
                let message = says(name, wrong).unwrap_err().to_string();
                assert!(message.starts_with(&format!("sample 0 has no result: {name} is {wrong:?};")), "{message}");
            }
            assert!(says(name, 3.9e9).is_ok(), "four threads");
        }
        assert!(says("tps", 4.1e9).is_err() && says("latency_ms_p99", -0.5).is_err());
        for fine in [("rounds_per_s", 1e11), ("bytes_per_s", 1e308), ("offset_ms", -1.0), ("loss", -1.0), ("tpmC", 0.0)]
        {
            assert!(says(fine.0, fine.1).is_ok(), "{fine:?}");
        }
        let counted = |done| check(&SampleRecord { elapsed_s: 2.0, ..SampleRecord::default() }, Some(done), 4);
        assert!(counted(0.0).is_ok() && counted(7.9e9).is_ok());
        assert!([-1.0, 8.1e9, f64::INFINITY, f64::NAN].into_iter().all(|done| counted(done).is_err()));
    }
}
