//! The spread of results: of each condition over several queries, its sources between restarts, what remains of it
//! after adjusting by a probe, and what statistics other than the mean hide of it.

use super::layout::{lined, table, titled, wrap};
use super::style::{Statistic, Style, plain};
use crate::figures::{Scale, chance, times};
use crate::tables;
use crate::words::between;
use crate::words::find::shown_interval;
use tare_findings::condition::{ConditionSummary, MetricSummary, Spread};
use tare_findings::effects::Effect;
use tare_findings::spread::SpreadSource;
use tare_findings::summary::{self, ProbeRow, Summary};
use tare_results::metric::Better;
use tare_stats::Interval;
use tare_text::percent;

/// The table of ["Improving the Stability of MySQL Single-Threaded
/// Benchmarks"](https://oysteing.blogspot.com/2017/01/): average and largest spread over the queries, the smallest
/// average first.
pub(super) fn spread(summary: &Summary, style: Style) -> Option<String> {
    let mut rows = tables::spreads(summary);
    let metrics = rows.first()?.1.metrics;
    let heads = ["condition", "max-min", "largest", "of", "between", "largest", "within", "largest"];
    let cov = |cov: Option<f64>| cov.map_or("-".to_owned(), percent);
    let hidden = style.shorten(&mut rows);
    let row = |(condition, spread): (&ConditionSummary, &Spread)| {
        vec![
            plain(&condition.name),
            percent(spread.range_average),
            percent(spread.range_largest),
            plain(&spread.range_largest_metric),
            percent(spread.between_cov_average),
            percent(spread.between_cov_largest),
            cov(spread.within_cov_average),
            cov(spread.within_cov_largest),
        ]
    };
    let rows: Vec<Vec<String>> = rows.into_iter().map(row).collect();
    let head =
        format!("spread over {metrics} metrics, average and largest (max-min: of trial means, over the smallest)");
    Some(titled(style, &head, &(table(style, &heads, 1, &rows) + &left_out(hidden))))
}

/// A line with the number of rows that a long table does not show; empty if it shows all.
pub(super) fn left_out(rows: usize) -> String {
    if rows == 0 {
        String::new()
    } else {
        format!("  ... {rows} rows between them, which tare show lists with --all\n")
    }
}

/// Every factor as a source of the variance between trials.
pub(super) fn sources(summary: &Summary, style: Style) -> Option<String> {
    let sources = summary.spread_sources.as_ref()?;
    let row = |source: &SpreadSource| {
        // If effects are listed too, both tables use the same order of levels.
        let is_listed = |effect: &Effect| effect.term.main() == Some(&source.term);
        let (levels, ratio, ci) = if !source.noisy_is_high && summary.effects.iter().any(is_listed) {
            let reversed = format!("{}/{}", source.quiet_level, source.noisy_level);
            (reversed, 1.0 / source.spread_ratio, source.spread_ci.map(|ci| ci.map(|end| 1.0 / end)))
        } else {
            let levels = format!("{}/{}", source.noisy_level, source.quiet_level);
            (levels, source.spread_ratio, source.spread_ci)
        };
        vec![
            plain(&source.term.factor()),
            plain(&levels),
            times(ratio),
            between(shown_interval(ci), "-", times),
            if source.shown { percent(source.share) } else { "not shown".to_owned() },
            chance(source.p_value),
        ]
    };
    let unexplained = ["unexplained", "", "", "", &percent(sources.unexplained), ""].map(str::to_owned).to_vec();
    let heads = ["factor", "levels", "spread", "95% interval", "share", "p"];
    let head = "what makes restarts differ (spread: ratio of the CoVs, first level to second, over all metrics)";
    let rows: Vec<Vec<String>> = sources.ranking.iter().map(row).chain([unexplained]).collect();
    Some(titled(style, head, &table(style, &heads, 2, &rows)))
}

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

/// One row per condition; `None` without probes.
pub(super) fn probes(summary: &Summary, style: Style) -> Option<String> {
    let rows: Vec<ProbeRow<'_>> = summary::probe_rows(summary);
    let first = rows.first()?;
    let by = rows.iter().find_map(|row| row.adjusted).map(|found| format!("mean at the same {}", found.probe));
    let names: Vec<String> = first.left.iter().map(|(probe, _)| probe.to_string()).collect();
    let mut heads = vec!["condition", "between"];
    heads.extend(names.iter().map(String::as_str));
    heads.push("mean, 95% interval");
    heads.extend(by.as_deref());
    let line = |row: &ProbeRow<'_>| {
        let scale = Scale::new(row.metric.unit, row.metric.max, 4);
        let estimate = |mean: f64, ci: Option<Interval>| match ci {
            Some(ci) => format!("{} ({} to {})", scale.number(mean), scale.number(ci.low), scale.number(ci.high)),
            None => scale.number(mean),
        };
        let mut line = vec![plain(row.condition), row.between.map_or("-".to_owned(), percent)];
        line.extend(first.left.iter().map(|(name, _)| {
            let left = row.left.iter().find(|(probe, _)| probe == name);
            left.map_or("-".to_owned(), |(_, left)| format!("{left:.2}"))
        }));
        line.push(match row.metric.has_mean() {
            true => estimate(row.metric.mean, row.metric.ci),
            false => scale.middle(row.metric.middle()).join(" or "),
        });
        if by.is_some() {
            let adjusted = row.adjusted.and_then(|found| Some(estimate(found.adjusted_mean?, found.ci)));
            line.push(adjusted.unwrap_or_else(|| "-".to_owned()));
        }
        line
    };
    let head = format!(
        "what each probe leaves of the spread between trials (1: explains nothing; average over {}), and {}",
        tare_text::count(first.metrics, "metric"),
        Scale::new(first.metric.unit, first.metric.max, 4).with_unit(&first.metric.name),
    );
    Some(titled(style, &head, &lined(style, &heads, 1, rows.iter().map(line))))
}
