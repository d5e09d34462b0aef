//! Probe results of each condition, as rows for the terminal and the page.

use super::condition::{ConditionSummary, MetricSummary};
use super::probes::Weighed;
use super::summary::Summary;
use tare_results::metric;
use tare_results::probe::Probe;
use tare_stats::descriptive::mean;

pub struct ProbeRow<'a> {
    pub condition: &'a str,
    pub metric: &'a MetricSummary,
    pub metrics: usize,
    /// CoV between trials, mean over the metrics.
    pub between: Option<f64>,
    /// The share of it that remains after adjustment by each probe, mean over the metrics.
    pub left: Vec<(&'static str, f64)>,
    /// The headline metric adjusted by a probe, if the study asked for it.
    pub adjusted: Option<&'a Weighed>,
}

pub fn rows(summary: &Summary) -> Vec<ProbeRow<'_>> {
    let headline = summary.headline_metric.as_deref();
    let row = |condition: &'_ ConditionSummary| {
        let primary: Vec<&MetricSummary> = condition
            .metrics
            .iter()
            .filter(|m| metric::describe(&m.name).is_primary() || Some(m.name.as_str()) == headline)
            .filter(|m| !m.probes.is_empty())
            .collect();
        let left = Probe::ALL.into_iter().filter_map(|probe| {
            let of = |m: &&MetricSummary| m.probes.iter().find(|w| w.probe == probe.word()).map(|w| w.left);
            Some((probe.word(), mean(&primary.iter().filter_map(of).collect::<Vec<_>>())?))
        });
        (primary.len(), mean(&primary.iter().filter_map(|m| m.between_cov).collect::<Vec<_>>()), left.collect())
    };
    let of_condition = |condition| {
        let (metrics, between, left) = row(condition);
        let metric = condition.metrics.iter().find(|m| Some(m.name.as_str()) == headline)?;
        let adjusted = metric.probes.iter().find(|weighed| weighed.adjusted_mean.is_some());
        (metrics > 0).then_some(ProbeRow { condition: &condition.name, metric, metrics, between, left, adjusted })
    };
    summary.conditions.iter().filter_map(of_condition).collect()
}
