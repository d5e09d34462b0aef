//! Dot plots and the run-order strip, made from trials.

use super::document::either;
use super::given::Page;
use super::scaling::HOLLOW;
use super::tables;
use crate::charts::dots::{self, Dot, DotRow};
use crate::charts::marks::Frame;
use crate::charts::over_time::{self, Point, Strip};
use crate::charts::pairs;
use crate::figures::figure;
use crate::words::{ab as words, ab_rows, best_first, better_word};
use maud::{Markup, html};
use std::collections::HashMap;
use tare_findings::ab::course;
use tare_findings::collect;
use tare_findings::condition::MetricSummary;
use tare_findings::state::is_disturbed;
use tare_findings::summary::Summary;
use tare_results::Results;
use tare_results::metric::Better;
use tare_results::schema::{Outcome, TrialRecord};
use tare_results::unit::Unit;

/// Up to this many trials, each dot of the first plot has a tooltip.
const DETAILED_TRIALS: usize = 1500;
/// From this many conditions on, the first plot shows only the best ones, with the others folded.
const FOLDED: usize = 60;
const SHOWN: usize = 40;
/// After this many bytes, further metrics have no plot, only rows in the table.
const PLOT_BYTES: usize = 250_000;

pub(super) fn headline(page: &Page<'_>) -> Option<Markup> {
    let metric = page.summary.headline_metric.as_deref()?;
    let rows = rows(page, metric);
    let first = rows.first()?;
    let detailed = page.results.trials.len() <= DETAILED_TRIALS;
    let (best, others) = rows.split_at(if rows.len() > FOLDED { SHOWN } else { rows.len() });
    Some(html! {
        p.note {
            (metric) ", " (better_word(first.summary.better)) "; "
            (best_first(rows.iter().any(|row| page.own_threads(row.label).is_some()))) ". A large dot is a trial, a small pale dot a "
            "sample, the bar a 95% interval with its mean"
            @if rows.iter().any(|row| !row.summary.modes.is_empty()) { "; diamonds are the modes of a condition" }
            @if rows.iter().any(|row| !row.summary.has_mean()) { "; without a bar the mean describes no trial" }
            "."
            @if rows.iter().flat_map(|row| &row.trials).any(|dot| dot.disturbed) { (HOLLOW) }
        }
        (both(metric, best, detailed))
        @if !others.is_empty() {
            details { summary { "The other " (others.len()) " conditions" } (both(metric, others, detailed)) }
        }
    })
}

fn both(metric: &str, rows: &[DotRow<'_>], detailed: bool) -> Markup {
    let wide = dots::draw(metric, rows, detailed, &dots::WIDE);
    either(&format!("Dot plot of {metric}"), &wide, &dots::draw(metric, rows, false, &dots::SLIM))
}

/// The dot plot of one metric as an `svg` element; `None` if no trial has it.
pub(crate) fn dot_plot(results: &Results, summary: &Summary, metric: &str) -> Option<String> {
    let page = Page::new(results, summary);
    let rows = rows(&page, metric);
    let detailed = results.trials.len() <= DETAILED_TRIALS;
    (!rows.is_empty()).then(|| dots::draw(metric, &rows, detailed, &dots::WIDE).into_string())
}

/// Every other metric: its plot, folded, and one table of all.
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
                    summary { (breakable(metric)) }
                    (plot)
                }
            }
            @if left_out > 0 { p.note { (left_out) " more metrics are in the table only, to keep this file small." } }
            (tables::all_metrics(page))
        }
    })
}

/// A long name that may wrap after any of its words.
fn breakable(name: &str) -> Markup {
    html! { @for part in name.split_inclusive('_') { (part) wbr; } }
}

/// One row per condition that has the metric, best first.
fn rows<'a>(page: &'a Page<'_>, metric: &'a str) -> Vec<DotRow<'a>> {
    let mut rows: Vec<DotRow<'a>> = page
        .conditions
        .iter()
        .enumerate()
        .filter_map(|(place, condition)| {
            let summary: &MetricSummary = page.metric(place, metric)?;
            let dot = |trial: &&TrialRecord| {
                let (name, mean) = (format!("trial {}", trial.trial), collect::trial_mean(trial, metric)?);
                Some(Dot { name, mean, disturbed: is_disturbed(trial) })
            };
            Some(DotRow {
                label: condition.name,
                mark: page.has_marks().then_some(place),
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
    // As on a terminal, conditions with their own number of threads are below the others.
    rows.sort_by_cached_key(|row| page.own_threads(row.label));
    rows
}

/// The run-order strip of the headline metric, with failed and disturbed attempts below it. If conditions have no
/// marks, each trial is shown relative to the mean of its condition.
pub(super) fn run_order(page: &Page<'_>) -> Option<Markup> {
    let metric = page.summary.headline_metric.as_deref()?;
    let unit = tare_results::metric::describe(metric).unit;
    let trials = &page.results.trials;
    let clock = trials.iter().all(|trial| seconds(trial).is_some());
    let means: HashMap<&str, f64> = (0..page.conditions.len())
        .filter_map(|at| Some((page.conditions[at].name, page.metric(at, metric)?.mean)))
        .collect();
    let shown = |trial: &TrialRecord, value: f64| match page.has_marks() {
        true => Some(value),
        false => means.get(trial.condition.as_str()).map(|mean| value / mean).filter(|ratio| ratio.is_finite()),
    };
    let points: Vec<Point> = trials
        .iter()
        .enumerate()
        .map(|(index, trial)| {
            let value = (trial.outcome == Outcome::Ok).then(|| collect::trial_mean(trial, metric)).flatten();
            let reason = trial.reason.as_deref().unwrap_or("no reason recorded");
            let words = match trial.outcome {
                Outcome::Ok => value.map_or("no value".to_owned(), |value| figure(value, unit)),
                Outcome::Failed => format!("failed: {reason}"),
                Outcome::Disturbed => format!("disturbed: {reason}"),
            };
            Point {
                disturbed: value.is_some() && is_disturbed(trial),
                at: if clock { seconds(trial).unwrap_or(0.0) } else { index as f64 },
                value: value.and_then(|value| shown(trial, value)),
                mark: page.mark(&trial.condition),
                title: format!("trial {} ({}): {words}", trial.trial, trial.condition),
            }
        })
        .collect();
    let names = page.conditions.iter().map(|condition| (condition.name, page.mark(condition.name)));
    let names: Vec<(&str, usize)> = names.filter(|_| page.has_marks()).collect();
    let name = tare_results::metric::short(metric);
    let (label, unit) =
        if page.has_marks() { (name, unit) } else { (format!("{name} / mean of its condition"), Unit::Plain) };
    let strip = Strip { label: &label, unit, points: &points, clock, names: &names };
    let wide = Frame::wide(names.iter().map(|(name, _)| *name));
    Some(html! {
        p.note {
            "A slope or a step that all conditions share is drift or interference, not a difference between them."
            @if !page.has_marks() { " Each trial is shown against the mean of its condition." }
            @if points.iter().any(|point| point.value.is_none()) { " × not used: failed, or disturbed and set aside." }
            @if points.iter().any(|point| point.disturbed) { (HOLLOW) }
        }
        (either("Run-order strip", &over_time::draw_strip(&strip, &wide), &over_time::draw_strip(&strip, &Frame::SLIM)))
    })
}

fn seconds(trial: &TrialRecord) -> Option<f64> {
    trial.started_at.parse::<jiff::Timestamp>().ok().map(|time| time.as_millisecond() as f64 / 1000.0)
}

/// The chart of `tare ab` with its table; `None` if no pairs were measured.
pub(super) fn pairs(page: &Page<'_>) -> Option<Markup> {
    let (plan, ab) = (page.results.plan.as_ref()?, page.summary.pairs.as_ref()?);
    let course = course(plan, &page.results.trials);
    let sentence = words::sentence(ab);
    let [wide, slim] = [pairs::WIDE, Frame::SLIM].map(|frame| pairs::draw(&sentence, ab, &course, &frame));
    Some(html! {
        @if !course.is_empty() {
            (either("The ratio after each pair", &wide, &slim))
            p.note.small-screen { (pairs::legend(ab, &course)) "." }
        }
        dl.first { @for (name, value) in ab_rows::rows(ab) { dt { (name) } dd { (value) } } }
    })
}
