//! Statistics other than the mean, and how much each hides.

use super::style::{Statistic, Style};
use super::text::{plain, wrap};
use crate::figures::Scale;
use tare_findings::condition::{ConditionSummary, MetricSummary};
use tare_results::metric::Better;
use tare_text::percent;

/// Relative distance from the shown figure from which a trial counts as not described by it.
const FAR: f64 = 0.05;

impl Statistic {
    pub(super) fn head(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Best => "best of N",
        }
    }

    fn value(self, metric: &MetricSummary) -> f64 {
        match (self, metric.better) {
            (Self::Median, _) => metric.median,
            (Self::Best, Better::Higher) => metric.max,
            (Self::Best, Better::Lower) => metric.min,
        }
    }

    pub(super) fn cell(self, metric: &MetricSummary, scale: &Scale) -> String {
        let value = scale.number(self.value(metric));
        if self == Self::Best { format!("{value} of {}", metric.trials) } else { value }
    }

    pub(super) fn hides(self, rows: &[(&ConditionSummary, &MetricSummary)], style: Style) -> String {
        let gap = |metric: &MetricSummary| (self.value(metric) / metric.mean - 1.0).abs();
        let range = |metric: &MetricSummary| {
            let value = self.value(metric);
            let far = [metric.min, metric.max].into_iter().map(|end| (end / value - 1.0).abs()).fold(0.0, f64::max);
            percent(far)
        };
        let Some((condition, metric)) = rows.iter().max_by(|a, b| gap(a.1).total_cmp(&gap(b.1))) else {
            return String::new();
        };
        let name = plain(&condition.name);
        let trials = |(_, metric): &(&ConditionSummary, &MetricSummary)| metric.trials;
        let text = match self {
            Self::Best => {
                let uneven = rows.iter().map(trials).max() != rows.iter().map(trials).min();
                format!(
                    "The best of N trials depends on luck: it gets better with N{}, has no interval, and says nothing \
                     about the other trials: under {name} it lies {} from the mean, and some trial {} from it.",
                    if uneven { ", which differs here" } else { "" },
                    percent(gap(metric)),
                    range(metric)
                )
            }
            Self::Median => {
                let modes = rows.iter().find(|(_, metric)| !metric.modes.is_empty());
                let modes = modes.map_or(String::new(), |(condition, _)| {
                    format!(
                        " Under {}, whose trials have several modes, there need be no trial near it.",
                        plain(&condition.name)
                    )
                });
                format!(
                    "The median hides how far off the worse half of the trials is: under {name} it lies {} from the \
                     mean, and some trial {} from it.{modes}",
                    percent(gap(metric)),
                    range(metric)
                )
            }
        };
        let far = rows.iter().any(|(_, metric)| gap(metric) > FAR);
        let more = if far { " Where the two differ that much, find the cause of the spread." } else { "" };
        wrap(style, "  ! ", "    ", &format!("{text}{more}"))
    }
}
