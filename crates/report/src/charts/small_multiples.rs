//! Many curves: one panel per line, all with the same axes, its own line strong and the others pale behind it. Fourteen
//! lines in one chart cannot be distinguished with any colour scheme.

use super::axis::{Axis, Rungs, px, shown, through};
use super::marks::{self, Frame, shortened};
use crate::figures::Scale;
use maud::{Markup, html};
use std::collections::BTreeSet;
use tare_findings::curves::{Curve, Curves, Point};
use tare_findings::scaling::Prediction;
use tare_results::metric::Better;
use tare_results::unit::Unit;
use tare_stats::Interval;

const LEFT: f64 = 62.0;
const GAP: f64 = 16.0;
const PANEL_HEIGHT: f64 = 108.0;
/// Width of a character of a panel's name, which is bold, and of one of its figure, in pixels of the widest common
/// font.
const LETTER: f64 = 8.4;
const DIGIT: f64 = 7.7;
/// Space above a panel for its name and the numbers of the row above.
const HEAD: f64 = 40.0;

/// Draws the panels, the best at the largest level first.
pub(super) fn draw(chart: &Curves, frame: &Frame) -> Markup {
    let columns = if frame.slim { 1 } else { 4 };
    let panel_width = (frame.width - LEFT) / columns as f64 - GAP;
    let mut order: Vec<&Curve> = chart.lines.iter().collect();
    let end = |line: &Curve| line.points.last().map_or(f64::NAN, |point| point.mean);
    order.sort_by(|a, b| match chart.better {
        Better::Higher => end(b).total_cmp(&end(a)),
        Better::Lower => end(a).total_cmp(&end(b)),
    });
    let rows = order.len().div_ceil(columns);
    let height = rows as f64 * (PANEL_HEIGHT + HEAD) + 36.0;
    let y = Axis::spanning(values(chart, &[]).into_iter(), chart.unit, PANEL_HEIGHT, 0.0);
    let x = Rungs::new(chart.lines.iter().flat_map(|l| l.points.iter().map(|p| p.n)), 5.0, panel_width - 5.0);
    let figures = figures(&order, chart.unit);
    // All panels have the same pale lines: drawn once, used in each.
    let pale = id(chart, frame);
    html! {
        svg class=(frame.class()) viewBox=(format!("0 0 {} {height}", frame.width)) role="img" {
            title { (chart.metric) " over " (chart.over) ", one panel per line" }
            desc { (description(chart)) }
            defs { path.pale id=(pale) d=(chart.lines.iter().map(|line| described(line, &x, &y)).collect::<String>()) {} }
            text.axis x="0" y="11" text-anchor="start" {
                (y.label(&chart.metric)) @if !frame.slim { "; the figure over a panel is at its right end" }
            }
            @for (index, line) in order.iter().enumerate() {
                @let left = LEFT + (index % columns) as f64 * (panel_width + GAP);
                @let top = HEAD + (index / columns) as f64 * (PANEL_HEIGHT + HEAD);
                g.panel transform=(format!("translate({} {})", px(left), px(top))) {
                    @if index % columns == 0 { (y.vertical(0.0, panel_width)) } @else { (y.lines(0.0, panel_width)) }
                    (x.grid(0.0, PANEL_HEIGHT))
                    use href={ "#" (pale) } {}
                    (panel(line, &figures[index], &x, &y, panel_width))
                }
            }
            text.axis x=(px((LEFT + frame.width) / 2.0)) y=(px(height - 6.0)) text-anchor="middle" { (chart.over) }
        }
    }
}

/// Unique in a page: no two of its charts have the same metric, factor and levels.
fn id(chart: &Curves, frame: &Frame) -> String {
    let words =
        format!("pale{}-{}-{}-{}", frame.width, chart.metric, chart.over, tare_findings::factors::words_of(&chart.at));
    words.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

/// The line through the means. It has a gap where the mean describes no trial.
pub(super) fn described(line: &Curve, x: &Rungs, y: &Axis) -> String {
    let parts = line.points.split(|point| !point.described).filter(|part| part.len() > 1);
    parts.map(|part| through(part.iter().map(|point| (x.at(point.n), y.at(point.mean))))).collect()
}

/// The figure at the right end of each line, with three digits, or four if they distinguish more of them.
fn figures(lines: &[&Curve], unit: Unit) -> Vec<String> {
    let written = |digits: usize| -> Vec<String> {
        let scale = scale(lines.iter().filter_map(|line| line.points.last()), unit, digits);
        lines.iter().map(|line| line.points.last().map_or(String::new(), |last| figure(last, &scale))).collect()
    };
    let different = |figures: &[String]| figures.iter().collect::<BTreeSet<_>>().len();
    let (short, long) = (written(3), written(4));
    if different(&long) > different(&short) { long } else { short }
}

fn scale<'p>(points: impl Iterator<Item = &'p Point>, unit: Unit, digits: usize) -> Scale {
    let largest = points.map(|point| if point.described { point.mean } else { point.range().high }.abs());
    Scale::new(unit, largest.fold(0.0, f64::max), digits)
}

/// The mean, or the range of the trials that it does not describe.
fn figure(point: &Point, scale: &Scale) -> String {
    if point.described {
        return scale.figure(point.mean);
    }
    let Interval { low, high } = point.range();
    format!("{} to {}", scale.number(low), scale.figure(high))
}

fn panel(own: &Curve, figure: &str, x: &Rungs, y: &Axis, width: f64) -> Markup {
    let place = |point: &Point, value: f64| (x.at(point.n), y.at(value));
    let means = || own.points.iter().filter(|point| point.described);
    let whiskers: String = own
        .points
        .iter()
        .filter_map(|point| {
            let Interval { low, high } = point.ci?;
            Some(format!("M{} {}V{}", px(x.at(point.n)), px(y.at(low)), px(y.at(high))))
        })
        .collect();
    let trials = |described: bool| {
        let points = own.points.iter().filter(move |point| point.described == described);
        points.flat_map(move |point| point.clean().map(move |value| place(point, value)))
    };
    // The name takes the space that the figure leaves; the tooltip has the full name.
    let letters = ((width - DIGIT * (figure.chars().count() + 1) as f64) / LETTER) as usize;
    html! {
        path.curve.m0 d=(described(own, x, y)) {}
        path.samples.m0 d=(marks::dots(trials(true))) {}
        path.whisker.m0 d=(whiskers) {}
        path.dots.m0 d=(marks::dots(means().map(|point| place(point, point.mean)))) {}
        path.dots.small.m0 d=(marks::dots(trials(false))) {}
        @for (x, y) in own.points.iter().flat_map(|point| point.disturbed.iter().map(move |value| place(point, *value))) {
            path.disturbed.m0 d=(marks::path(0, x, y, 2.2)) {}
        }
        text.name x="0" y="-7" { (shortened(&own.label, letters.max(3))) title { (own.label) } }
        text.value x=(px(width)) y="-7" text-anchor="end" { (figure) }
    }
}

/// The values that determine the axis of a chart of curves, with the predictions that it shows.
pub(super) fn values(chart: &Curves, predictions: &[Prediction]) -> Vec<f64> {
    let points = || chart.lines.iter().flat_map(|line| &line.points);
    let intervals = points().filter_map(|p| p.ci).chain(predictions.iter().filter_map(|p| p.ci));
    let ends = intervals.flat_map(|ci| [ci.low, ci.high]);
    let measured = points().flat_map(|p| p.trials.iter().copied().chain([p.mean]));
    shown(measured.chain(predictions.iter().map(|p| p.value)), ends)
}

pub(super) fn description(chart: &Curves) -> String {
    let scale = scale(chart.lines.iter().flat_map(|line| &line.points), chart.unit, 3);
    let words = chart.lines.iter().take(20).filter_map(|line| {
        let (first, last) = (line.points.first()?, line.points.last()?);
        let name = if line.label.is_empty() { &chart.metric } else { &line.label };
        let (from, to) = (figure(first, &scale), figure(last, &scale));
        Some(format!("{name}: {from} at {}, {to} at {}", first.n, last.n))
    });
    words.collect::<Vec<_>>().join("; ")
}
