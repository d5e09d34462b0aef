//! Dot plots and the run-order strip, fed from trials.

use super::given::Page;
use super::tables;
use crate::charts::dots::{self, Dot, Row};
use crate::charts::marks;
use crate::charts::run_order::{self, Point};
use crate::words::better_word;
use maud::{Markup, html};
use tare_findings::collect;
use tare_findings::figures::figure;
use tare_findings::state::is_disturbed;
use tare_findings::summary::{MetricSummary, Summary};
use tare_results::Results;
use tare_results::metric::Better;
use tare_results::schema::{Outcome, TrialRecord};

/// Trials up to which each dot has a tooltip in the first plot.
const DETAILED_TRIALS: usize = 1500;
/// Conditions from which the first plot shows the best ones alone, the others folded.
const FOLDED: usize = 60;
const SHOWN: usize = 40;
/// Entries from which a legend is folded.
const LEGEND: usize = 16;
/// Bytes after which further metrics get no plot of their own, only their rows in the table.
const PLOT_BYTES: usize = 250_000;

/// The dot plot of the headline metric.
pub(super) fn headline(page: &Page<'_>) -> Option<Markup> {
    let metric = page.summary.headline_metric.as_deref()?;
    let rows = rows(page, metric);
    let first = rows.first()?;
    let detailed = page.results.trials.len() <= DETAILED_TRIALS;
    let (best, others) = rows.split_at(if rows.len() > FOLDED { SHOWN } else { rows.len() });
    Some(html! {
        p.note {
            (metric) ", " (better_word(first.summary.better)) "; best first. A large dot is a trial, a small pale dot a "
            "sample, the bar a 95% interval with its mean"
            @if rows.iter().any(|row| !row.summary.modes.is_empty()) {
                "; diamonds are the two modes of a condition, whose mean describes no trial"
            }
            @if rows.iter().flat_map(|row| &row.trials).any(|dot| dot.disturbed) {
                "; a hollow dot is a trial that was disturbed and counts, as none of its attempts was clean"
            }
            "."
        }
        (both(metric, best, detailed))
        @if !others.is_empty() {
            details { summary { "The other " (others.len()) " conditions" } (both(metric, others, detailed)) }
        }
    })
}

/// The plot twice, of which the page shows the one that the screen has room for.
fn both(metric: &str, rows: &[Row<'_>], detailed: bool) -> Markup {
    html! {
        div.scroll.wide tabindex="0" role="region" aria-label={ "Dot plot of " (metric) } { (dots::draw(metric, rows, detailed)) }
        div.small-screen { (dots::draw_slim(metric, rows)) }
    }
}

/// The dot plot of one metric as an `svg` element; none where no trial has it.
pub fn dot_plot(results: &Results, summary: &Summary, metric: &str) -> Option<String> {
    let page = Page::new(results, summary);
    let rows = rows(&page, metric);
    (!rows.is_empty()).then(|| dots::draw(metric, &rows, results.trials.len() <= DETAILED_TRIALS).into_string())
}

/// Every further metric: its plot, folded, and one table of all.
pub(super) fn others(page: &Page<'_>) -> Option<Markup> {
    let metrics = collect::all_metrics(&page.conditions);
    let mut bytes = 0;
    let mut plots = Vec::new();
    let mut left_out = 0;
    for metric in metrics.iter().filter(|metric| Some(*metric) != page.summary.headline_metric.as_ref()) {
        if bytes > PLOT_BYTES {
            left_out += 1;
            continue;
        }
        let plot = both(metric, &rows(page, metric), false);
        bytes += plot.0.len();
        plots.push((metric, plot));
    }
    (!metrics.is_empty()).then(|| {
        html! {
            @for (metric, plot) in &plots {
                details {
                    summary { (metric) }
                    (plot)
                }
            }
            @if left_out > 0 { p.note { (left_out) " more metrics are in the table only, to keep this file small." } }
            (tables::all_metrics(page))
        }
    })
}

/// One row a condition that has the metric, best first.
fn rows<'a>(page: &'a Page<'_>, metric: &'a str) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = page
        .conditions
        .iter()
        .enumerate()
        .filter_map(|(place, condition)| {
            let summary: &MetricSummary = page.metric(place, metric)?;
            let dot = |trial: &&TrialRecord| {
                let (name, mean) = (format!("trial {}", trial.trial), collect::trial_mean(trial, metric)?);
                Some(Dot { name, mean, disturbed: is_disturbed(trial) })
            };
            Some(Row {
                label: condition.name,
                mark: place,
                trials: condition.ok.iter().filter_map(dot).collect(),
                records: &condition.ok,
                metric,
                summary,
            })
        })
        .collect();
    rows.sort_by(|a, b| match a.summary.better {
        Better::Higher => b.summary.mean.total_cmp(&a.summary.mean),
        Better::Lower => a.summary.mean.total_cmp(&b.summary.mean),
    });
    rows
}

/// The run-order strip of the headline metric, failed and disturbed attempts below it.
pub(super) fn run_order(page: &Page<'_>) -> Option<Markup> {
    let metric = page.summary.headline_metric.as_deref()?;
    let unit = tare_results::metric::describe(metric).unit;
    let trials = &page.results.trials;
    let clock = trials.iter().all(|trial| seconds(trial).is_some());
    let points: Vec<Point> = trials
        .iter()
        .enumerate()
        .map(|(index, trial)| {
            let value = (trial.outcome == Outcome::Ok).then(|| collect::trial_mean(trial, metric)).flatten();
            let words = match trial.outcome {
                Outcome::Ok => value.map_or("no value".to_owned(), |value| figure(value, unit)),
                Outcome::Failed => format!("failed: {}", trial.reason.as_deref().unwrap_or("no reason recorded")),
                Outcome::Disturbed => {
                    format!("disturbed: {}", trial.reason.as_deref().unwrap_or("no reason recorded"))
                }
            };
            Point {
                disturbed: value.is_some() && is_disturbed(trial),
                at: if clock { seconds(trial).unwrap_or(0.0) } else { index as f64 },
                value,
                mark: page.mark(&trial.condition),
                title: format!("trial {} ({}): {words}", trial.trial, trial.condition),
            }
        })
        .collect();
    Some(html! {
        p.note { "A slope or a step that all conditions share is drift or interference, not a difference between them." }
        div.scroll tabindex="0" role="region" aria-label="Run-order strip" { (run_order::draw(metric, unit, &points, clock)) }
        (legend(page))
        @if points.iter().any(|point| point.value.is_none()) {
            p.note { "× not used: failed, or disturbed and put aside" }
        }
        @if points.iter().any(|point| point.disturbed) {
            p.note { "hollow: disturbed, and counted because none of its attempts was clean" }
        }
    })
}

/// Which mark is which condition; a long list is folded.
pub(super) fn legend(page: &Page<'_>) -> Markup {
    let list = html! {
        ul.legend {
            @for condition in &page.conditions {
                li data-c=(condition.name) { (marks::swatch(page.mark(condition.name))) (condition.name) }
            }
        }
    };
    html! {
        @if page.conditions.len() > LEGEND {
            details { summary { "Which mark is which of the " (page.conditions.len()) " conditions" } (list) }
        } @else { (list) }
    }
}

/// Start of a trial in seconds since the epoch.
fn seconds(trial: &TrialRecord) -> Option<f64> {
    trial.started_at.parse::<jiff::Timestamp>().ok().map(|time| time.as_millisecond() as f64 / 1000.0)
}
