//! The dot plot: every trial beside its interval, samples lighter below, one axis for all conditions.

use super::axis::{Axis, px};
use super::marks;
use crate::analysis::figures::{Scale, percent};
use crate::analysis::summary::MetricSummary;
use maud::{Markup, html};
use tare_stats::Interval;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 250.0;
const RIGHT: f64 = 760.0;
const ROW: f64 = 44.0;
const TOP: f64 = 10.0;

/// One condition of the plot.
pub struct Row<'a> {
    /// Its name, beside the row.
    pub label: &'a str,
    /// Number of its mark, the same in every chart of the page.
    pub mark: usize,
    /// Name and mean of every trial.
    pub trials: Vec<(String, f64)>,
    /// Every sample of every trial.
    pub samples: Vec<f64>,
    /// Its interval and its modes.
    pub summary: &'a MetricSummary,
}

/// Draws the plot. `detailed` gives every trial a tooltip; without it a trial costs 8 bytes.
pub fn draw(metric: &str, rows: &[Row<'_>], detailed: bool) -> Markup {
    let unit = rows.first().map_or("", |row| row.summary.unit.as_str());
    let values = rows.iter().flat_map(|row| {
        let ends = row.summary.ci.into_iter().flat_map(|ci| [ci.low, ci.high]);
        // A wide interval of few trials may reach below zero, where no throughput or time can be.
        row.trials.iter().map(|(_, mean)| *mean).chain(row.samples.iter().copied()).chain(ends.map(|end| end.max(0.0)))
    });
    let axis = Axis::new(values, unit, LEFT, RIGHT);
    let bottom = TOP + ROW * rows.len() as f64;
    let height = bottom + 40.0;
    html! {
        svg.chart viewBox=(format!("0 0 {WIDTH} {height}")) role="img" {
            title { (metric) " of every trial, by condition" }
            desc { (description(&axis, rows)) }
            (axis.horizontal(TOP, bottom))
            text.axis x=(px((LEFT + RIGHT) / 2.0)) y=(px(bottom + 32.0)) text-anchor="middle" { (axis.label(metric)) }
            @for (index, row) in rows.iter().enumerate() {
                (draw_row(row, &axis, TOP + ROW * index as f64, detailed))
            }
        }
    }
}

fn draw_row(row: &Row<'_>, axis: &Axis, top: f64, detailed: bool) -> Markup {
    let (interval_y, trials_y, samples_y) = (top + 9.0, top + 23.0, top + 36.0);
    let class = marks::class(row.mark);
    let bimodal = !row.summary.modes.is_empty();
    let figures = Scale::new(&row.summary.unit, row.summary.max, 4);
    html! {
        line.rule x1="0" x2=(px(WIDTH)) y1=(px(top)) y2=(px(top)) {}
        (label(row.label, top + ROW / 2.0))
        path class=(class) d=(marks::path(row.mark, LEFT - 14.0, top + ROW / 2.0, 5.0)) {}
        @if !row.samples.is_empty() {
            path class=(format!("samples {class}")) d=(marks::dots(row.samples.iter().map(|v| (axis.at(*v), samples_y)))) {}
        }
        @if let Some(Interval { low, high }) = row.summary.ci {
            path class=(if bimodal { format!("interval faint {class}") } else { format!("interval {class}") })
                d=(format!("M{} {y}H{}M{m} {}V{}", px(axis.at(low)), px(axis.at(high)), px(interval_y - 4.0),
                    px(interval_y + 4.0), y = px(interval_y), m = px(axis.at(row.summary.mean)))) {}
        }
        @for mode in &row.summary.modes {
            path class=(format!("mode {class}")) d=(marks::path(3, axis.at(mode.mean), interval_y, 5.0)) {}
        }
        @if detailed {
            @for (index, (name, mean)) in row.trials.iter().enumerate() {
                path class={ "trial " (class) } d=(marks::path(0, axis.at(*mean), trials_y + jitter(index), 3.6)) {
                    title { (name) ": " (figures.figure(*mean)) }
                }
            }
        } @else {
            path class=(format!("dots {class}"))
                d=(marks::dots(row.trials.iter().enumerate().map(|(i, (_, v))| (axis.at(*v), trials_y + jitter(i))))) {}
        }
        (values(row, &figures, top))
    }
}

/// Spreads dots of equal value so that all are seen; up and down in turn, the same in every drawing.
fn jitter(index: usize) -> f64 {
    [0.0, -4.0, 4.0, -2.0, 2.0][index % 5]
}

/// The figures at the right of a row: modes and weights in place of a mean where there are two.
fn values(row: &Row<'_>, scale: &Scale, top: f64) -> Markup {
    let summary = row.summary;
    let lines: Vec<String> = if summary.modes.is_empty() {
        let spread = summary
            .between_cov
            .map_or_else(|| "one trial: no interval".to_owned(), |cov| format!("between trials {}", percent(cov)));
        let half = match summary.ci {
            Some(Interval { low, high }) => format!(" ± {}", scale.number((high - low) / 2.0)),
            _ => String::new(),
        };
        vec![format!("{}{half} {}", scale.number(summary.mean), scale.unit), spread]
    } else {
        summary
            .modes
            .iter()
            .map(|mode| format!("{} in {} of trials", scale.figure(mode.mean), percent(mode.weight)))
            .collect()
    };
    html! {
        @for (index, line) in lines.iter().enumerate() {
            text.value x=(px(RIGHT + 14.0)) y=(px(top + 18.0 + 15.0 * index as f64)) { (line) }
        }
    }
}

/// The name of a condition in at most three lines.
fn label(name: &str, middle: f64) -> Markup {
    const CHARACTERS: usize = 34;
    let mut lines: Vec<String> = vec![String::new()];
    for word in name.split_whitespace() {
        let line = lines.len() - 1;
        if !lines[line].is_empty() && lines[line].chars().count() + 1 + word.chars().count() > CHARACTERS {
            lines.push(word.to_owned());
        } else {
            if !lines[line].is_empty() {
                lines[line].push(' ');
            }
            lines[line].push_str(word);
        }
    }
    if lines.len() > 3 {
        lines.truncate(3);
        lines[2].push('…');
    }
    let first = middle + 4.0 - 6.5 * (lines.len() - 1) as f64;
    html! {
        g {
            title { (name) }
            @for (index, line) in lines.iter().enumerate() {
                text.label x=(px(LEFT - 26.0)) y=(px(first + 13.0 * index as f64)) text-anchor="end" { (line) }
            }
        }
    }
}

fn description(axis: &Axis, rows: &[Row<'_>]) -> String {
    let mut words: Vec<String> = rows
        .iter()
        .take(20)
        .map(|row| {
            let summary = row.summary;
            format!(
                "{}: {} trials from {} to {}",
                row.label,
                summary.trials,
                axis.scale.figure(summary.min),
                axis.scale.figure(summary.max)
            )
        })
        .collect();
    if rows.len() > words.len() {
        words.push(format!("and {} more conditions in the table", rows.len() - words.len()));
    }
    words.join("; ")
}
