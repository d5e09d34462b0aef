//! The dot plot: every trial next to its interval, samples lighter below, one axis for all conditions.

use super::axis::{Axis, px, shown};
use super::marks::{self, Frame, shortened};
use crate::figures::Scale;
use maud::{Markup, html};
use tare_findings::condition::MetricSummary;
use tare_findings::mode::{Middle, Mode};
use tare_results::schema::TrialRecord;
use tare_results::unit::Unit;
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
    let unit = rows.first().map_or(Unit::Plain, |row| row.summary.unit);
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
                text.label x=(px(left - AFTER_LABELS)) y=(px(first + 13.0 * index as f64)) text-anchor="end" { (line) }
            }
        }
    }
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

/// Names of queries and the marks of their conditions are on the left.
const QUERIES_WIDE: Frame = Frame { width: 960.0, left: 150.0, right: 930.0, slim: false };
const QUERIES_SLIM: Frame = Frame { left: 60.0, right: 320.0, ..Frame::SLIM };
/// Space right of the labels of queries, for marks, and with that left of them.
const AFTER_LABELS: f64 = 26.0;
const BEFORE_LABELS: f64 = AFTER_LABELS + 4.0;
/// Width of a letter of these labels, which are larger than those of other charts.
const LABEL_LETTER: f64 = 7.8;
const QUERIES_TOP: f64 = 8.0;
/// Height of one condition of one query, and the gap between queries.
const QUERY_LINE: f64 = 11.0;
const QUERY_GAP: f64 = 9.0;

/// A query with all of its trials, grouped by condition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Query {
    pub label: String,
    pub conditions: Vec<(usize, Vec<QueryDot>)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct QueryDot {
    /// Its mean relative to the mean of all trials: 0.02 is 2% above.
    pub value: f64,
    /// Whether the trial counts although it was disturbed: then the dot is hollow.
    pub disturbed: bool,
}

/// Draws a panel for each query, for wide pages and for small screens.
pub(crate) fn draw_queries(queries: &[Query]) -> [Markup; 2] {
    [QUERIES_WIDE, QUERIES_SLIM].map(|frame| queries_of_frame(queries, &frame))
}

fn queries_of_frame(queries: &[Query], frame: &Frame) -> Markup {
    let letters = queries.iter().map(|query| query.label.chars().count()).max().unwrap_or(0);
    let (left, right) = (frame.left.max(BEFORE_LABELS + LABEL_LETTER * letters as f64), frame.right);
    let dots = queries.iter().flat_map(|query| &query.conditions).flat_map(|(_, dots)| dots);
    let reach = dots.map(|dot| dot.value.abs()).fold(0.001, f64::max);
    let at = |value: f64| f64::midpoint(left, right) + value / reach * (right - left) / 2.0;
    let height = |query: &Query| QUERY_GAP + QUERY_LINE * query.conditions.len() as f64;
    let tops: Vec<f64> =
        (0..queries.len()).map(|index| QUERIES_TOP + queries[..index].iter().map(height).sum::<f64>()).collect();
    let bottom = QUERIES_TOP + queries.iter().map(height).sum::<f64>();
    let ticks = [-1.0, -0.5, 0.0, 0.5, 1.0].map(|share| share * reach);
    html! {
        svg class=(frame.class()) viewBox=(format!("0 0 {} {}", frame.width, px(bottom + 40.0))) role="img" {
            title { "Every trial of every query, by condition" }
            desc { (queries.len()) " queries; the farthest trial lies " (percent(reach)) " from the mean of its query." }
            @for tick in ticks {
                line.grid x1=(px(at(tick))) x2=(px(at(tick))) y1=(px(QUERIES_TOP)) y2=(px(bottom)) {}
                text.tick x=(px(at(tick))) y=(px(bottom + 14.0)) text-anchor="middle" { (signed(tick)) }
            }
            text.axis x=(px(f64::midpoint(left, right))) y=(px(bottom + 32.0)) text-anchor="middle" {
                (if frame.slim { "against the query's mean" } else { "mean of a trial against the mean of its query over all trials" })
            }
            @for (query, top) in queries.iter().zip(&tops) {
                line.rule x1="0" x2=(px(frame.width)) y1=(px(*top)) y2=(px(*top)) {}
                text.label x=(px(left - AFTER_LABELS)) y=(px(top + 5.0 + QUERY_LINE * query.conditions.len() as f64 / 2.0 + 4.0)) text-anchor="end" {
                    (query.label)
                }
                @for (index, (mark, dots)) in query.conditions.iter().enumerate() {
                    @let (class, y) = (marks::class(*mark), top + QUERY_GAP / 2.0 + QUERY_LINE * (index as f64 + 0.5));
                    @let (hollow, full): (Vec<&QueryDot>, Vec<&QueryDot>) = dots.iter().partition(|dot| dot.disturbed);
                    path class=(class) d=(marks::path(*mark, left - 14.0, y, 3.0)) {}
                    path class=(format!("dots small {class}")) d=(marks::dots(full.iter().map(|dot| (at(dot.value), y)))) {}
                    @for dot in hollow {
                        path class=(format!("disturbed {class}")) d=(marks::path(0, at(dot.value), y, 2.2)) {}
                    }
                }
            }
        }
    }
}

fn signed(fraction: f64) -> String {
    let sign = if fraction > 0.0 { "+" } else { "" };
    format!("{sign}{}", percent(fraction))
}
