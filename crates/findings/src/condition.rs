//! One condition, and the values of its metrics over its trials.

use super::confidence;
use super::latencies::Distribution;
use super::mode::{Middle, Mode, ModeCause};
use super::probes::Weighed;
use serde::Serialize;
use std::collections::HashMap;
use tare_results::metric::Better;
use tare_results::schema::Levels;
use tare_results::unit::Unit;
use tare_stats::Interval;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConditionSummary {
    pub name: String,
    pub levels: Levels,
    /// Trials that count. If the answer leaves the disturbed ones out, metrics are those of the clean ones.
    pub trials: usize,
    #[serde(skip)]
    pub metrics: Vec<MetricSummary>,
    /// Transaction times of all trials together; none in results of version 0.1.0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub latencies: Vec<Distribution>,
    /// How many of the trials were undisturbed.
    pub clean_trials: usize,
    /// How many of the trials count although they were disturbed, because no attempt at a clean one was left.
    pub disturbed_trials: usize,
    /// Trials of which an attempt failed and none gave a result.
    pub failed_trials: usize,
    pub failed_attempts: usize,
    /// Disturbed attempts that were set aside for another one.
    // Scripts read it by this name.
    #[serde(rename = "put_aside_trials")]
    pub set_aside_trials: usize,
    /// Spread over the primary metrics; null below two trials.
    pub spread: Option<Spread>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricSummary {
    pub name: String,
    /// Unit, empty if unknown.
    pub unit: Unit,
    pub better: Better,
    /// Mean over trials of the trial means; for latency percentiles, of the percentile over all transactions of each
    /// trial.
    pub mean: f64,
    pub median: f64,
    /// 95% interval over trials; null with fewer than two trials.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    /// CoV of the samples of a trial, averaged over trials, as a fraction; null with one sample per trial.
    pub within_cov: Option<f64>,
    /// Coefficient of variation of the trial means, as a fraction; null with fewer than two trials.
    pub between_cov: Option<f64>,
    /// Variance components; null below two trials.
    pub components: Option<Components>,
    pub min: f64,
    pub max: f64,
    /// Two or three entries if the trials fall into modes, in which case the mean describes no trial; else empty.
    pub modes: Vec<Mode>,
    /// What the trials of each mode have in common, if a recorded covariate explains it.
    #[serde(skip)]
    pub mode_cause: Option<ModeCause>,
    /// No mode is shown, but the trials lie far apart: their mean lies between two groups or is hardly known.
    #[serde(skip)]
    pub far_from_mean: bool,
    pub trials: usize,
    /// The remaining spread of the trials after adjustment by each probe, if the study records probes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<Weighed>,
}

/// Spread of a condition over its primary metrics (queries): the columns of the stability article's table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    /// Metrics with two or more trials.
    pub metrics: usize,
    /// (largest - smallest trial mean) / smallest of each metric, averaged over the metrics.
    pub range_average: f64,
    pub range_largest: f64,
    pub range_largest_metric: String,
    /// CoV of the trial means, averaged over the metrics.
    pub between_cov_average: f64,
    pub between_cov_largest: f64,
    /// CoV of the samples of a trial, averaged over trials and metrics; null with one sample per trial.
    pub within_cov_average: Option<f64>,
    pub within_cov_largest: Option<f64>,
}

/// Variance components by Kalibera & Jones: the variance that each level of repetition adds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Components {
    /// sqrt(T_1^2) / mean: samples of one trial; null with one sample per trial.
    pub within_cov: Option<f64>,
    /// sqrt(T_2^2) / mean: trials, without the contribution of their samples. 0 if the samples explain all of it.
    pub between_cov: f64,
}

/// The metrics of a condition by name; there may be thousands.
pub type ByName<'a> = HashMap<&'a str, &'a MetricSummary>;

impl ConditionSummary {
    /// Number of trials behind its metrics: without the disturbed ones if the answer leaves them out.
    pub fn analysed(&self) -> usize {
        self.metrics.iter().map(|metric| metric.trials).max().unwrap_or(0)
    }

    pub fn by_name(&self) -> ByName<'_> {
        self.metrics.iter().map(|metric| (metric.name.as_str(), metric)).collect()
    }
}

impl MetricSummary {
    /// The value that represents its trials.
    pub fn middle(&self) -> Middle<'_> {
        match (self.modes.as_slice(), self.far_from_mean) {
            ([], false) => Middle::Mean(self.mean, self.ci),
            ([], true) => Middle::Range(self.min, self.max),
            (modes, _) => Middle::Modes(modes),
        }
    }

    /// The interval of the mean, if the mean represents the trials.
    pub fn interval(&self) -> Option<Interval> {
        self.ci.filter(|_| self.has_mean())
    }

    /// Whether the mean represents the trials.
    pub fn has_mean(&self) -> bool {
        matches!(self.middle(), Middle::Mean(..))
    }
}
