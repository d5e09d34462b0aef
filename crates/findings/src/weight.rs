//! Would a reference weight help here: what each probe says of a study's own samples, one after the other.

use crate::probes::of_sample;
use serde::Serialize;
use tare_results::Results;
use tare_results::metric::{self, Better};
use tare_results::probe::Probe;
use tare_results::schema::TrialRecord;
use tare_stats::descriptive::{mean, std_dev};
use tare_stats::worth::{Advice, worth};

/// The chance that the one or the other interval of the three probes leaves out what is true.
const ERROR: f64 = 0.05;

/// What the probes say of the samples of one server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Weight {
    /// The metric, or the first of several that are taken together.
    pub metric: String,
    pub metrics: usize,
    pub repeats: usize,
    /// Coefficient of variation of what was measured, as a fraction.
    pub cov: f64,
    pub probes: Vec<OfProbe>,
    /// What follows: helps where one does, and does not where none does.
    pub advice: Advice,
    /// The one that leaves least, where it helps.
    pub probe: Option<Probe>,
}

/// What one of the reference weights would leave of the spread.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OfProbe {
    /// The word of it, as in a study file.
    pub probe: Probe,
    /// Correlation with the metric, the logarithms of both and where the machine is slower both are larger.
    pub correlation: f64,
    /// Spread that it would leave over all spread.
    pub left: f64,
    pub left_ci_low: f64,
    pub left_ci_high: f64,
    /// Repeats that count: of those that resemble the ones before them fewer than there are.
    pub effective: f64,
    pub advice: Advice,
}

/// What the probes say of the samples of the first trial with a result; none of too few of them, or without readings.
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

/// The logarithm of each sample's time, or of one over its throughput, averaged over the metrics.
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

/// Lists of the same length, averaged place by place; none where one is missing.
fn averaged(lists: impl Iterator<Item = Option<Vec<f64>>>) -> Option<Vec<f64>> {
    let lists: Vec<Vec<f64>> = lists.collect::<Option<_>>()?;
    let length = lists.first()?.len();
    let place = |at: usize| mean(&lists.iter().filter_map(|list| list.get(at).copied()).collect::<Vec<_>>());
    lists.iter().all(|list| list.len() == length).then(|| (0..length).map(place).collect::<Option<_>>())?
}
