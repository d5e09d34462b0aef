//! Outlying trials: each with its log, its unusual covariates, and the result without it.

use super::collect::ConditionTrials;
use super::confidence::{CONFIDENCE, FURTHER};
use super::ends;
use super::threads::covariate_means;
use serde::Serialize;
use std::collections::BTreeMap;
use tare_results::schema::TrialRecord;
use tare_stats::multiple::holm;
use tare_stats::outliers::{Outlier as Far, farthest};
use tare_stats::trials::mean_interval;
use tare_stats::{Interval, descriptive};

const NAMED: usize = 3;
/// A covariate is named if it lies this many times its usual spread from its usual value.
const FAR: f64 = 5.0;

/// A trial that lies far from the others of its condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outlier {
    pub condition: String,
    pub trial: usize,
    pub attempt: u32,
    pub metric: String,
    /// The trial's mean of that metric.
    pub value: f64,
    pub mean_without: f64,
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
    /// Its log within the results directory; null for trials of a CSV file.
    pub log: Option<String>,
    /// Covariates that are far from those of the other trials: name, its value, their mean.
    pub unusual: Vec<(String, f64, f64)>,
}

/// The outlying trials of all conditions in these metrics, tested together; for each trial the first metric in which
/// it is an outlier.
pub(super) fn find(conditions: &[ConditionTrials<'_>], metrics: &[String]) -> Vec<Outlier> {
    let cells: Vec<(&ConditionTrials<'_>, &String, Far)> = conditions
        .iter()
        .flat_map(|condition| metrics.iter().map(move |metric| (condition, metric)))
        .filter_map(|(condition, metric)| {
            let means: Vec<f64> = condition.means(metric);
            Some((condition, metric, farthest(&means)?))
        })
        .collect();
    let adjusted = holm(&cells.iter().map(|(.., far)| far.p_value).collect::<Vec<_>>());
    let mut found: Vec<Outlier> = Vec::new();
    for ((condition, metric, far), _) in cells.iter().zip(adjusted).filter(|(_, p)| *p <= FURTHER) {
        let outlier = of(condition, metric, far.index);
        let known = |o: &Outlier| found.iter().any(|f| f.condition == o.condition && f.trial == o.trial);
        found.extend(outlier.filter(|o| !known(o)));
    }
    found
}

fn of(condition: &ConditionTrials<'_>, metric: &str, index: usize) -> Option<Outlier> {
    let trials = condition.with(metric);
    let (trial, value) = trials.get(index)?;
    let without: Vec<f64> =
        trials.iter().enumerate().filter(|(place, _)| *place != index).map(|(_, (_, mean))| *mean).collect();
    let others: Vec<&TrialRecord> = trials.iter().map(|(other, _)| *other).filter(|o| o.trial != trial.trial).collect();
    Some(Outlier {
        condition: condition.name.to_owned(),
        trial: trial.trial,
        attempt: trial.attempt,
        metric: metric.to_owned(),
        value: *value,
        mean_without: descriptive::mean(&without)?,
        ci: mean_interval(&without, CONFIDENCE),
        log: condition.blocked.then(|| trial.log()),
        unusual: unusual(trial, &others),
    })
}

fn unusual(trial: &TrialRecord, others: &[&TrialRecord]) -> Vec<(String, f64, f64)> {
    let all: Vec<BTreeMap<String, f64>> = others.iter().map(|other| covariate_means(&other.samples)).collect();
    let mut found: Vec<(f64, (String, f64, f64))> = covariate_means(&trial.samples)
        .into_iter()
        .filter_map(|(name, own)| {
            let usual: Vec<f64> = all.iter().filter_map(|other| other.get(&name).copied()).collect();
            let (mean, spread) = (descriptive::mean(&usual)?, descriptive::std_dev(&usual)?);
            let far = (own - mean).abs() / spread.max(1e-3 * mean.abs()).max(f64::MIN_POSITIVE);
            (far > FAR).then_some((far, (name, own, mean)))
        })
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().take(NAMED).map(|(_, named)| named).collect()
}
