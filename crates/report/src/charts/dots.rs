//! The dot plot: every trial next to its interval, samples lighter below, one axis for all conditions.

use super::axis::{Axis, px, shown};
use super::frame::Frame;
use super::marks;
use crate::figures::Scale;
use maud::{Markup, html};
use tare_findings::condition::MetricSummary;
use tare_findings::mode::{Middle, Mode};
use tare_results::schema::TrialRecord;
use tare_stats::Interval;
use tare_text::{count, percent};

const TOP: f64 = 10.0;
/// Name and figures are next to the marks, or above them on a small screen.
pub(crate) const WIDE: Frame = Frame { width: 960.0, left: 250.0, right: 760.0, slim: false };
pub(crate) const SLIM: Frame = Frame { left: 20.0, right: 318.0, ..Frame::SLIM };

pub(crate) struct Dot {
    pub name: String,
    /// Mean of its samples, in the metric's unit.
    pub mean: f64,
    /// Whether the trial counts although it was disturbed: then the dot is hollow.
    pub disturbed: bool,
}

pub(crate) struct DotRow<'a> {
    pub label: &'a str,
    /// Number of its mark, the same in every chart of the page; `None` if there are too many conditions for marks.
    pub mark: Option<usize>,
    /// The trials that count, in the order in which they ran.
    pub trials: Vec<Dot>,
    /// The records of these trials, from which samples are read, because there may be millions.
    pub records: &'a [&'a TrialRecord],
    pub metric: &'a str,
    pub summary: &'a MetricSummary,
}

impl DotRow<'_> {
    fn samples(&self) -> impl Iterator<Item = f64> {
        let several = self.records.iter().filter(|trial| trial.finite(self.metric).nth(1).is_some());
        several.flat_map(|trial| trial.finite(self.metric))
    }

    /// The lowest and the highest value; `None` without values.
    fn range(&self) -> Option<(f64, f64)> {
        let values = self.trials.iter().map(|dot| dot.mean).chain(self.samples()).filter(|value| value.is_finite());
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        (low <= high).then_some((low, high))
    }
}

fn values(rows: &[DotRow<'_>]) -> Vec<f64> {
    let ends = rows.iter().filter_map(|row| row.summary.interval()).flat_map(|ci| [ci.low, ci.high]);
    shown(rows.iter().filter_map(DotRow::range).flat_map(|(low, high)| [low, high]), ends)
}

fn row_height(frame: &Frame) -> f64 {
    if frame.slim { 82.0 } else { 44.0 }
}

/// Draws the plot. With `detailed` every trial has a tooltip; without it a trial takes 8 bytes.
pub(crate) fn draw(metric: &str, rows: &[DotRow<'_>], detailed: bool, frame: &Frame) -> Markup {
    let row = row_height(frame);
    let unit = rows.first().map_or("", |row| row.summary.unit.as_str());
    let axis = Axis::new(values(rows).into_iter(), unit, frame.left, frame.right);
    // One unit for all rows, so that they can be compared.
    let figures = Scale::of_middles(unit, rows.iter().map(|row| row.summary.middle()));
    let bottom = TOP + row * rows.len() as f64;
    let height = bottom + 40.0;
    html! {
        svg class=(frame.class()) data-row=(row)
            viewBox=(format!("0 0 {} {height}", frame.width)) role="img" {
            title { (metric) " of every trial, by condition" }
            desc { (description(&axis, rows)) }
            g.foot {
                (axis.horizontal(TOP, bottom))
                text.axis x=(px((frame.left + frame.right) / 2.0)) y=(px(bottom + 32.0)) text-anchor="middle" { (axis.label(metric)) }
            }
            @for (index, row) in rows.iter().enumerate() {
                g.row data-c=(row.label) {
                    (draw_row(row, (&axis, &figures), TOP + row_height(frame) * index as f64, detailed, frame))
                }
            }
        }
    }
}

fn draw_row(row: &DotRow<'_>, (axis, figures): (&Axis, &Scale), top: f64, detailed: bool, frame: &Frame) -> Markup {
    let marks_top = if frame.slim { top + row_height(frame) - 44.0 } else { top };
    let (interval_y, trials_y, samples_y) = (marks_top + 9.0, marks_top + 23.0, marks_top + 36.0);
    let class = marks::class(row.mark.unwrap_or(0));
    html! {
        line.rule x1="0" x2=(px(frame.width)) y1=(px(top)) y2=(px(top)) {}
        @if frame.slim {
            @if let Some(mark) = row.mark { path class=(class) d=(marks::path(mark, 9.0, top + 13.0, 5.0)) {} }
            text.label x="20" y=(px(top + 17.0)) { (shortened(row.label, 46)) title { (row.label) } }
            text.value x="20" y=(px(top + 33.0)) { (figures_of(row, figures).join(", ")) }
        } @else {
            (label(row.label, top + row_height(frame) / 2.0, frame.left))
            @if let Some(mark) = row.mark {
                path class=(class) d=(marks::path(mark, frame.left - 14.0, top + row_height(frame) / 2.0, 5.0)) {}
            }
            @for (index, line) in figures_of(row, figures).iter().enumerate() {
                text.value x=(px(frame.right + 14.0)) y=(px(top + 18.0 + 15.0 * index as f64)) { (line) }
            }
        }
        @if row.samples().next().is_some() {
            path class=(format!("samples {class}")) d=(marks::dots_in_a_row(row.samples().map(|v| axis.at(v)), samples_y)) {}
        }
        @if let Some(Interval { low, high }) = row.summary.interval() {
            path class=(format!("interval {class}"))
                d=(format!("M{} {y}H{}M{m} {}V{}", px(axis.at(low)), px(axis.at(high)), px(interval_y - 4.0),
                    px(interval_y + 4.0), y = px(interval_y), m = px(axis.at(row.summary.mean)))) {}
        }
        @for mode in &row.summary.modes {
            path class=(format!("mode {class}")) d=(marks::path(3, axis.at(mode.mean), interval_y, 5.0)) {}
        }
        @let placed = row.trials.iter().enumerate().map(|(i, dot)| (dot, axis.at(dot.mean), trials_y + jitter(i)));
        @for (dot, x, y) in placed.clone().filter(|(dot, ..)| detailed || dot.disturbed) {
            path class=(format!("trial{} {class}", if dot.disturbed { " disturbed" } else { "" })) d=(marks::path(0, x, y, 3.6)) {
                @if detailed { title { (dot.name) ": " (figures.figure(dot.mean)) } }
            }
        }
        @if !detailed {
            path class=(format!("dots {class}"))
                d=(marks::dots(placed.filter(|(dot, ..)| !dot.disturbed).map(|(_, x, y)| (x, y)))) {}
        }
    }
}

/// Vertical offsets that separate dots of equal value, the same in every drawing.
fn jitter(index: usize) -> f64 {
    [0.0, -4.0, 4.0, -2.0, 2.0][index % 5]
}

/// The figures of a row: the mean or modes, and below a single figure the spread of the trials.
fn figures_of(row: &DotRow<'_>, scale: &Scale) -> Vec<String> {
    let summary = row.summary;
    if let Middle::Modes(modes) = summary.middle() {
        let mode = |mode: &Mode| format!("{} in {} of trials", scale.figure(mode.mean), percent(mode.weight));
        return modes.iter().map(mode).collect();
    }
    let spread = summary
        .between_cov
        .map_or_else(|| "one trial: no interval".to_owned(), |cov| format!("between trials {}", percent(cov)));
    vec![format!("{} {}", scale.middle(summary.middle()).join(" "), scale.unit), spread]
}

/// The name of a condition in at most three lines.
fn label(name: &str, middle: f64, left: f64) -> Markup {
    const CHARACTERS: usize = 32;
    let mut lines: Vec<String> = vec![String::new()];
    for word in name.split_whitespace().map(|word| shortened(word, CHARACTERS)) {
        let line = lines.len() - 1;
        if !lines[line].is_empty() && lines[line].chars().count() + 1 + word.chars().count() > CHARACTERS {
            lines.push(word.to_owned());
        } else {
            if !lines[line].is_empty() {
                lines[line].push(' ');
            }
            lines[line].push_str(&word);
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
                text.label x=(px(left - 26.0)) y=(px(first + 13.0 * index as f64)) text-anchor="end" { (line) }
            }
        }
    }
}

/// Shortens a text to its beginning and end if it is too long.
pub(crate) fn shortened(text: &str, characters: usize) -> String {
    let all: Vec<char> = text.chars().collect();
    if all.len() <= characters {
        return text.to_owned();
    }
    let half = (characters - 1) / 2;
    all[..half].iter().chain(&['…']).chain(&all[all.len() - half..]).collect()
}

fn description(axis: &Axis, rows: &[DotRow<'_>]) -> String {
    let mut words: Vec<String> = rows
        .iter()
        .take(20)
        .map(|row| {
            let summary = row.summary;
            format!(
                "{}: {} from {} to {}",
                row.label,
                count(summary.trials, "trial"),
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
