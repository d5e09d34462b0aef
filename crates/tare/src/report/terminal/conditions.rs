//! The table of conditions, and the further metrics.

use super::style::{Style, WIDTH, add, finish, table};
use super::text::{plain, wrap};
use crate::analysis::figures::{Scale, percent};
use crate::analysis::reading::better_word;
use crate::analysis::reading::letter;
use crate::analysis::summary::{ConditionSummary, MetricSummary, Summary};
use std::collections::BTreeMap;
use tare_results::metric::{Better, sort_key};
use tare_stats::Interval;

/// Cells of the little picture of where the interval and the trials lie.
const STRIP: usize = 16;

type Row<'a> = (&'a ConditionSummary, Option<&'a MetricSummary>);

/// One row a condition, best first.
pub(super) fn headline(summary: &Summary, style: Style) -> Option<String> {
    let name = summary.headline_metric.as_deref()?;
    let mut conditions: Vec<Row<'_>> =
        summary.conditions.iter().map(|c| (c, c.metrics.iter().find(|metric| metric.name == name))).collect();
    let metrics = conditions.iter().filter_map(|(_, metric)| *metric);
    let largest = metrics.clone().map(|metric| metric.max.abs()).fold(0.0, f64::max);
    let first = metrics.clone().next()?;
    let scale = Scale::new(&first.unit, largest, 4);
    let (better, top) = (first.better, metrics.map(|metric| metric.max).fold(0.0, f64::max));
    conditions.sort_by(|a, b| order(a.1, b.1, better));
    let ruler = format!("0{:─>width$}", scale.number(top), width = STRIP - 1);
    let states = States::of(summary);
    let mut head = vec!["condition"];
    head.extend(states.heads());
    head.extend(["mean ± 95%", "within", "between", "min", "max", &ruler]);
    let mut rows = table(&head, 1);
    for (condition, metric) in conditions {
        add(&mut rows, 1, cells(condition, states.cells(condition), metric, &scale, top));
    }
    let unit = if scale.unit.is_empty() { String::new() } else { format!(", {}", scale.unit) };
    let head = style.bold(&format!("{name}{unit} ({}; best first; intervals over trials)", better_word(better)));
    Some(format!("{head}\n{}", finish(rows)))
}

fn order(a: Option<&MetricSummary>, b: Option<&MetricSummary>, better: Better) -> std::cmp::Ordering {
    match (a, b) {
        (Some(a), Some(b)) if better == Better::Higher => b.mean.total_cmp(&a.mean),
        (Some(a), Some(b)) => a.mean.total_cmp(&b.mean),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// Which columns say how trials ended: as many as there is something to say.
#[derive(Clone, Copy)]
struct States {
    disturbed: bool,
    failed: bool,
}

impl States {
    fn of(summary: &Summary) -> Self {
        Self {
            disturbed: summary.conditions.iter().any(|condition| condition.disturbed_trials > 0),
            failed: summary.conditions.iter().any(|condition| condition.failed_trials > 0),
        }
    }

    fn heads(self) -> Vec<&'static str> {
        let clean = if self.disturbed || self.failed { "clean" } else { "trials" };
        let others = [(self.disturbed, "disturbed"), (self.failed, "failed")];
        std::iter::once(clean).chain(others.into_iter().filter(|(any, _)| *any).map(|(_, head)| head)).collect()
    }

    /// Disturbed attempts that were put aside are no trials; they are among what is odd.
    fn cells(self, condition: &ConditionSummary) -> Vec<String> {
        let others = [(self.disturbed, condition.disturbed_trials), (self.failed, condition.failed_trials)];
        let others = others.into_iter().filter(|(any, _)| *any).map(|(_, n)| n.to_string());
        std::iter::once(condition.clean_trials.to_string()).chain(others).collect()
    }
}

fn cells(
    condition: &ConditionSummary,
    states: Vec<String>,
    metric: Option<&MetricSummary>,
    scale: &Scale,
    top: f64,
) -> Vec<String> {
    let mut cells = vec![plain(&condition.name)];
    cells.extend(states);
    let Some(metric) = metric else {
        cells.push("no usable trial".to_owned());
        return cells;
    };
    let cov = |cov: Option<f64>| cov.map_or("-".to_owned(), percent);
    let middle = if metric.modes.is_empty() {
        match metric.ci {
            Some(Interval { low, high }) => {
                format!("{} ± {}", scale.number(metric.mean), scale.number((high - low) / 2.0))
            }
            _ => scale.number(metric.mean),
        }
    } else {
        let modes = metric.modes.iter().map(|mode| format!("{} in {}", scale.number(mode.mean), percent(mode.weight)));
        modes.collect::<Vec<_>>().join("\n")
    };
    cells.extend([
        middle,
        cov(metric.within_cov),
        cov(metric.between_cov),
        scale.number(metric.min),
        scale.number(metric.max),
        strip(metric, top),
    ]);
    cells
}

/// `····├─●─┤····`: range of the trials as dots, interval as a line, mean as a ball; modes as balls without a line.
fn strip(metric: &MetricSummary, top: f64) -> String {
    if top <= 0.0 || metric.min < 0.0 {
        return String::new();
    }
    let cell = |value: f64| ((value / top * (STRIP - 1) as f64).round().max(0.0) as usize).min(STRIP - 1);
    let mut cells = vec![' '; STRIP];
    cells[cell(metric.min)..=cell(metric.max)].fill('·');
    if metric.modes.is_empty() {
        if let Some(Interval { low, high }) = metric.ci {
            cells[cell(low)..=cell(high)].fill('─');
        }
        cells[cell(metric.mean)] = '●';
    } else {
        metric.modes.iter().for_each(|mode| cells[cell(mode.mean)] = '●');
    }
    cells.into_iter().collect()
}

/// Means of the other metrics: a metric a row, conditions by letter as columns.
pub(super) fn others(summary: &Summary, style: Style) -> Option<String> {
    let headline = summary.headline_metric.as_deref()?;
    let mut names: Vec<&str> = summary.conditions.iter().flat_map(|c| &c.metrics).map(|m| m.name.as_str()).collect();
    names.sort_by_key(|name| sort_key(name));
    names.dedup();
    names.retain(|name| *name != headline);
    if names.is_empty() {
        return None;
    }
    const COLUMN: usize = 11;
    let name_width = names.iter().map(|name| name.len()).max().unwrap_or(0) + 8;
    let fit = (usize::from(WIDTH).saturating_sub(name_width) / COLUMN).max(1);
    let mut text = style.bold("other metrics, means over trials (± half of the 95% interval)") + "\n";
    for chunk in summary.conditions.chunks(fit) {
        let head: Vec<String> = letters(summary, chunk);
        let heads: Vec<&str> = ["metric", "unit"].into_iter().chain(head.iter().map(String::as_str)).collect();
        let mut rows = table(&heads, 2);
        for name in &names {
            add(&mut rows, 2, other_row(name, chunk));
        }
        text.push_str(&finish(rows));
        for (letter, condition) in head.iter().zip(chunk) {
            text.push_str(&wrap(&format!("  {letter} = "), "      ", &plain(&condition.name)));
        }
    }
    Some(text)
}

fn other_row(name: &str, chunk: &[ConditionSummary]) -> Vec<String> {
    let by_condition: BTreeMap<&str, &MetricSummary> = chunk
        .iter()
        .filter_map(|c| Some((c.name.as_str(), c.metrics.iter().find(|metric| metric.name == name)?)))
        .collect();
    let largest = by_condition.values().map(|metric| metric.mean.abs()).fold(0.0, f64::max);
    let unit = by_condition.values().next().map_or("", |metric| metric.unit.as_str());
    let smallest = by_condition.values().map(|metric| metric.mean.abs()).fold(f64::INFINITY, f64::min);
    // One more digit where the smallest value of the row would else show only two.
    let scale = Scale::new(unit, largest, if smallest < largest / 2.0 { 4 } else { 3 });
    let mut cells = vec![plain(name), scale.unit.clone()];
    cells.extend(chunk.iter().map(|condition| {
        by_condition.get(condition.name.as_str()).map_or("-".to_owned(), |metric| {
            let half = metric.ci.map(|ci| ci.width() / 2.0 / metric.mean.abs());
            match half.filter(|half| half.is_finite()) {
                Some(half) => format!("{} ±{}", scale.number(metric.mean), percent(half)),
                None => scale.number(metric.mean),
            }
        })
    }));
    cells
}

/// A, B ... Z, AA ... by the place of a condition in the summary.
fn letters(summary: &Summary, chunk: &[ConditionSummary]) -> Vec<String> {
    let place =
        |condition: &ConditionSummary| summary.conditions.iter().position(|c| c.name == condition.name).unwrap_or(0);
    chunk.iter().map(|condition| letter(place(condition))).collect()
}
