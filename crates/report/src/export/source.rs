//! The input of an export: results, their summary, and the selected metrics.

use crate::figures::Scale;
use crate::tables::Cell;
use std::collections::HashSet;
use tare_findings::collect;
use tare_findings::condition::{ByName, ConditionSummary, MetricSummary};
use tare_findings::summary::Summary;
use tare_results::Results;
use tare_results::metric::describe;
use tare_text::percent;

pub struct Source<'a> {
    pub results: &'a Results,
    pub summary: Summary,
    /// The requested metrics; if empty, each format uses its default.
    pub metrics: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no metric `{name}` in these results")]
pub struct NoSuchMetric {
    pub name: String,
    pub known: Vec<String>,
}

impl<'a> Source<'a> {
    pub fn new(results: &'a Results, metrics: Vec<String>) -> Result<Self, NoSuchMetric> {
        let known = collect::all_metrics(&collect::conditions(results));
        match metrics.iter().find(|name| !known.contains(name)) {
            Some(name) => Err(NoSuchMetric { name: name.clone(), known }),
            None => Ok(Self { results, summary: tare_findings::summarize(results), metrics }),
        }
    }

    /// Whether a metric is exported by formats that export all metrics by default.
    pub(crate) fn wants(&self, metric: &str) -> bool {
        self.metrics.is_empty() || self.metrics.iter().any(|name| name == metric)
    }

    /// Whether a metric is exported by formats that by default export only the metrics that the study is about.
    pub(crate) fn headlines(&self, metric: &str) -> bool {
        if self.metrics.is_empty() {
            describe(metric).is_primary() || self.summary.headline_metric.as_deref() == Some(metric)
        } else {
            self.wants(metric)
        }
    }

    /// The metric of a chart: the first that was requested, or the headline.
    pub(crate) fn charted(&self) -> Option<&str> {
        self.metrics.first().or(self.summary.headline_metric.as_ref()).map(String::as_str)
    }

    /// The metrics of the tables for people, in table order, each with its unit.
    fn shown_metrics(&self) -> Vec<&MetricSummary> {
        let mut known: HashSet<&str> = HashSet::new();
        let all = self.summary.conditions.iter().flat_map(|condition| &condition.metrics);
        let shown = all.filter(|metric| self.headlines(&metric.name) && known.insert(&metric.name));
        let mut shown: Vec<&MetricSummary> = shown.collect();
        shown.sort_by_cached_key(|metric| tare_results::metric::sort_key(&metric.name));
        shown
    }

    /// One row per condition, after a row of heads: its trials, and for each metric the spread between trials and the
    /// mean with the half-width of its interval, or the modes, because the mean describes none of them. `in_unit` is
    /// appended to a metric's name.
    pub(super) fn conditions(&self, in_unit: fn(&str) -> String) -> Vec<Vec<Cell>> {
        let conditions: Vec<_> = self.summary.conditions.iter().map(|of| (of, of.by_name())).collect();
        let metrics = self.shown_metrics().into_iter().map(|metric| {
            let name = metric.name.as_str();
            let all = conditions.iter().filter_map(|(_, known)| known.get(name));
            (name, Scale::of_middles(metric.unit, all.map(|of| of.middle())))
        });
        let metrics: Vec<(&str, Scale)> = metrics.collect();
        let mut heads = vec!["condition".into(), "trials".into()];
        for (name, scale) in &metrics {
            let unit = if scale.unit.is_empty() { String::new() } else { in_unit(&scale.unit) };
            heads.extend([format!("{name}{unit}").into(), "between".into()]);
        }
        let row = |(condition, known): &(&ConditionSummary, ByName<'_>)| {
            let mut row: Vec<Cell> = vec![(&condition.name).into(), condition.analysed().into()];
            for (name, scale) in &metrics {
                let found = known.get(name).copied();
                let middle = |of: &MetricSummary| scale.middle(of.middle()).join(" or ");
                row.extend([Cell(found.map(middle)), Cell(found.and_then(|of| of.between_cov).map(percent))]);
            }
            row
        };
        std::iter::once(heads).chain(conditions.iter().map(row)).collect()
    }
}
