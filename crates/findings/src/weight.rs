//! Whether adjustment by a probe would help on this machine, estimated from consecutive samples of one server.

use crate::probes::of_sample;
use serde::Serialize;
use tare_results::Results;
use tare_results::metric::{self, Better};
use tare_results::probe::Probe;
use tare_results::schema::TrialRecord;
use tare_stats::descriptive::{mean, std_dev};
use tare_stats::worth::{Advice, worth};

/// Probability that any of the intervals of the three probes misses the true value.
const ERROR: f64 = 0.05;

/// The estimated benefit of each probe for the samples of one server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Weight {
    /// The metric, or the first of several combined ones.
    pub metric: String,
    pub metrics: usize,
    pub repeats: usize,
    /// Coefficient of variation of the measured values, as a fraction.
    pub cov: f64,
    pub probes: Vec<OfProbe>,
    /// Helps if one probe helps, does not help if none does.
    pub advice: Advice,
    /// The probe that leaves the least spread, if one helps.
    pub probe: Option<Probe>,
}

/// The spread that remains after adjustment by one of the probes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OfProbe {
    /// The probe's name, as in a study file.
    pub probe: Probe,
    /// Correlation with the metric. Both are logarithms, oriented so that both are larger on a slower machine.
    pub correlation: f64,
    /// Spread that would remain / total spread.
    pub left: f64,
    pub left_ci_low: f64,
    pub left_ci_high: f64,
    /// Effective number of repeats: fewer than the actual number if consecutive ones are correlated.
    pub effective: f64,
    pub advice: Advice,
}

/// Estimates the probes from the samples of the first trial with a result; none with too few samples, or without
/// readings.
pub fn of(results: &Results) -> Option<Weight> {
    let trial = results.trials.iter().find(|trial| super::collect::is_usable(trial))?;
    let mut metrics: Vec<&str> = trial.metric_names().into_iter().collect();
    metrics.sort_by_cached_key(|name| metric::sort_key(name));
    metrics.dedup();
    if metrics.iter().any(|name| metric::describe(name).is_primary()) {
        metrics.retain(|name| metric::describe(name).is_primary());
    }
    let values = slowness(trial, &metrics)?;
    let confidence = 1.0 - ERROR / Probe::ALL.len() as f64;
    let of = |probe: Probe| {
        let found = worth(&values, &readings(trial, &metrics, probe)?, confidence)?;
        Some(OfProbe {
            probe,
            correlation: found.correlation,
            left: found.left,
            left_ci_low: found.left_ci.low,
            left_ci_high: found.left_ci.high,
            effective: found.repeats,
            advice: found.advice,
        })
    };
    let probes: Vec<OfProbe> = Probe::ALL.into_iter().filter_map(of).collect();
    let helps = probes.iter().filter(|found| found.advice == Advice::Helps);
    let best = helps.min_by(|a, b| a.left.total_cmp(&b.left)).map(|found| found.probe);
    let advice = match best {
        Some(_) => Advice::Helps,
        None if probes.iter().all(|found| found.advice == Advice::DoesNotHelp) => Advice::DoesNotHelp,
        None => Advice::CannotTell,
    };
    (!probes.is_empty()).then(|| {
        Some(Weight {
            metric: (*metrics.first()?).to_owned(),
            metrics: metrics.len(),
            repeats: values.len(),
            cov: std_dev(&values)?,
            probes,
            advice,
            probe: best,
        })
    })?
}

/// The logarithm of each sample's time, or of the inverse of its throughput, averaged over the metrics.
fn slowness(trial: &TrialRecord, metrics: &[&str]) -> Option<Vec<f64>> {
    let of_metric = |name: &&str| {
        let sign = match metric::describe(name).better {
            Better::Higher => -1.0,
            Better::Lower => 1.0,
        };
        let values = trial.values(name);
        values.iter().all(|value| *value > 0.0).then(|| values.iter().map(|v| sign * v.ln()).collect())
    };
    averaged(metrics.iter().map(of_metric))
}

/// The logarithm of the readings alongside each sample, averaged over the metrics.
fn readings(trial: &TrialRecord, metrics: &[&str], probe: Probe) -> Option<Vec<f64>> {
    let of_metric = |name: &&str| {
        trial.samples.iter().map(|sample| of_sample(sample, name, probe).map(f64::ln)).collect::<Option<Vec<f64>>>()
    };
    averaged(metrics.iter().map(of_metric))
}

/// The element-wise mean of lists of the same length; none if one is missing.
fn averaged(lists: impl Iterator<Item = Option<Vec<f64>>>) -> Option<Vec<f64>> {
    let lists: Vec<Vec<f64>> = lists.collect::<Option<_>>()?;
    let length = lists.first()?.len();
    let place = |at: usize| mean(&lists.iter().filter_map(|list| list.get(at).copied()).collect::<Vec<_>>());
    lists.iter().all(|list| list.len() == length).then(|| (0..length).map(place).collect::<Option<_>>())?
}
