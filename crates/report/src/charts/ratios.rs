//! Ratios with their intervals, one per line, on a logarithmic axis around "no effect": comparisons (a forest plot),
//! and published claims next to the measured figures.

use super::axis::px;
use super::marks::{self, Frame, LETTER, shortened};
use crate::figures::times;
use maud::{Markup, html};
use tare_stats::Interval;
use tare_text::count;

/// Labels are on the left and figures on the right, or both above their line on a narrow page.
const COMPARISONS_WIDE: Frame = Frame { width: 960.0, left: 330.0, right: 800.0, slim: false };
const SLIM: Frame = Frame { left: 8.0, ..Frame::SLIM };
const TOP: f64 = 8.0;
/// Height above a line for its label and figures, and maximum characters of the label there.
const COMPARISON_ABOVE: f64 = 18.0;
const LETTERS_ABOVE: usize = 24;
/// Maximum characters of a label in its column.
const COMPARISON_LETTERS: usize = 50;
/// Maximum characters of figures to the right of a plot of the usual width, and of a label and figures on one line.
const FIGURES: usize = 22;
const LINE: usize = LETTERS_ABOVE + FIGURES;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ForestLine {
    pub label: String,
    pub ratio: f64,
    pub ci: Option<Interval>,
    /// Taller, with a larger mark: for all metrics together, or for a factor rather than an interaction.
    pub strong: bool,
    /// Significant when tested together with all others: then the mark is a dot, else a bar.
    pub shown: bool,
}

/// Draws the plot for wide pages and for small screens; `what` is the name of the ratio under the axis.
pub(crate) fn draw_comparisons(title: &str, what: &str, lines: &[ForestLine]) -> [Markup; 2] {
    let longest = lines.iter().map(|line| figures(line).chars().count()).max().unwrap_or_default();
    let wide =
        Frame { right: COMPARISONS_WIDE.right - LETTER * longest.saturating_sub(FIGURES) as f64, ..COMPARISONS_WIDE };
    [wide, SLIM].map(|frame| comparisons(title, what, lines, &frame))
}

fn figures(line: &ForestLine) -> String {
    let interval = line.ci.map(|Interval { low, high }| format!(" ({} to {})", times(low), times(high)));
    times(line.ratio) + &interval.unwrap_or_default()
}

fn comparisons(title: &str, what: &str, lines: &[ForestLine], frame: &Frame) -> Markup {
    let axis = RatioAxis::of(lines.iter().flat_map(|line| with_ends(line.ratio, line.ci)), frame);
    let above = if frame.slim { COMPARISON_ABOVE } else { 0.0 };
    let heights: Vec<f64> = lines.iter().map(|line| above + if line.strong { 24.0 } else { 17.0 }).collect();
    let bottom = TOP + heights.iter().sum::<f64>();
    let tops: Vec<f64> = (0..lines.len()).map(|index| TOP + heights[..index].iter().sum::<f64>()).collect();
    html! {
        svg class=(frame.class()) viewBox=(format!("0 0 {} {}", frame.width, px(bottom + 40.0))) role="img" {
            title { (title) }
            desc { (describe_comparisons(lines)) }
            (axis.drawn(what, TOP, bottom))
            @for ((line, top), height) in lines.iter().zip(&tops).zip(&heights) {
                (comparison(line, top + above / 2.0 + height / 2.0, &axis, frame))
            }
        }
    }
}

fn comparison(line: &ForestLine, y: f64, axis: &RatioAxis<'_>, frame: &Frame) -> Markup {
    let at = |ratio| axis.at(ratio);
    let class = if line.shown { "m0" } else { "m7" };
    let radius = if line.strong { 5.0 } else { 3.2 };
    let figures = figures(line);
    let (text_y, label) = match frame.slim {
        // The end of the label has the levels, which distinguish lines of one factor.
        true => (-9.0, tare_text::ending(&line.label, LETTERS_ABOVE.min(LINE.saturating_sub(figures.chars().count())))),
        false => (4.0, shortened(&line.label, COMPARISON_LETTERS)),
    };
    let ((label_x, label_side), (value_x, value_side)) = match frame.slim {
        true => ((frame.left, "start"), (frame.right, "end")),
        false => ((frame.left - 12.0, "end"), (frame.right + 12.0, "start")),
    };
    html! {
        text.label x=(px(label_x)) y=(px(y + text_y)) text-anchor=(label_side) { (label) }
        @if let Some(Interval { low, high }) = line.ci {
            path class={ "interval " (class) } d=(format!("M{} {y}H{}", px(at(low)), px(at(high)), y = px(y))) {}
        }
        // A dot if it is shown to differ from "no effect", otherwise a bar: never only by colour.
        @let mark = match line.shown {
            true => marks::path(0, at(line.ratio), y, radius),
            false => format!("M{} {}v{}", px(at(line.ratio)), px(y - radius), px(2.0 * radius)),
        };
        path class={ (class) @if !line.shown { " interval" } } d=(mark) { title { (line.label) ": " (figures) } }
        text.value x=(px(value_x)) y=(px(y + text_y)) text-anchor=(value_side) { (figures) }
    }
}

fn describe_comparisons(lines: &[ForestLine]) -> String {
    let shown: Vec<String> = lines
        .iter()
        .filter(|line| line.shown)
        .take(20)
        .map(|line| format!("{} {}", line.label, times(line.ratio)))
        .collect();
    if shown.is_empty() {
        format!("{}; none is shown to differ from 1x, which is no effect.", count(lines.len(), "ratio"))
    } else {
        format!("{}. Shown to differ from 1x: {}.", count(lines.len(), "ratio"), shown.join("; "))
    }
}

/// Names are on the left and verdicts on the right, or both above their line on a narrow page.
const CLAIMS_WIDE: Frame = Frame { width: 960.0, left: 250.0, right: 790.0, slim: false };
const CLAIM_HEIGHT: f64 = 26.0;
/// Height above a line for its name and verdict, and maximum characters of a name there and in its column.
const CLAIM_ABOVE: f64 = 16.0;
const CLAIM_LETTERS: usize = 34;
const DIAMOND: usize = 3;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClaimLine {
    pub name: String,
    /// `None` if only a direction was published.
    pub published: Option<f64>,
    /// The range in which the claim holds.
    pub holds: Interval,
    pub here: f64,
    pub ci: Option<Interval>,
    pub verdict: &'static str,
    /// Whether the claim is decided: then the mark is a dot, else a bar.
    pub decided: bool,
}

/// Draws the claims for wide pages and for small screens; `what` is the name of the ratio under the axis. A line has
/// the range in which the claim holds, the published and the measured figure.
pub(crate) fn draw_claims(title: &str, what: &str, lines: &[ClaimLine]) -> [Markup; 2] {
    [CLAIMS_WIDE, SLIM].map(|frame| claims(title, what, lines, &frame))
}

fn claims(title: &str, what: &str, lines: &[ClaimLine], frame: &Frame) -> Markup {
    let ends = lines.iter().flat_map(|line| {
        let holds = [line.holds.low, line.holds.high].into_iter().filter(|end| (0.1..=10.0).contains(end));
        with_ends(line.here, line.ci).chain(line.published).chain(holds)
    });
    let axis = RatioAxis::of(ends, frame);
    let above = if frame.slim { CLAIM_ABOVE } else { 0.0 };
    let top = |place: usize| TOP + place as f64 * (above + CLAIM_HEIGHT);
    let bottom = top(lines.len());
    html! {
        svg class=(frame.class()) viewBox=(format!("0 0 {} {}", frame.width, px(bottom + 40.0))) role="img" {
            title { (title) }
            desc { (describe_claims(lines)) }
            (axis.drawn(what, TOP, bottom))
            @for (place, line) in lines.iter().enumerate() {
                (claim(line, top(place) + above + CLAIM_HEIGHT / 2.0, &axis, frame))
            }
        }
    }
}

fn claim(line: &ClaimLine, y: f64, axis: &RatioAxis<'_>, frame: &Frame) -> Markup {
    let (from, to) = (axis.at(line.holds.low), axis.at(line.holds.high));
    let class = if line.decided { "m0" } else { "m7" };
    let x = axis.at(line.here);
    let ((name_x, name_side), (verdict_x, verdict_side), text_y) = match frame.slim {
        true => ((frame.left, "start"), (frame.right, "end"), -14.0),
        false => ((frame.left - 12.0, "end"), (frame.right + 12.0, "start"), 4.0),
    };
    html! {
        rect.equal x=(px(from)) y=(px(y - 9.0)) width=(px(to - from)) height="18" {}
        @if let Some(Interval { low, high }) = line.ci {
            path class={ "interval " (class) } d=(format!("M{} {y}H{}", px(axis.at(low)), px(axis.at(high)), y = px(y))) {}
        }
        @let mark = match line.decided {
            true => marks::path(0, x, y, 4.5),
            false => format!("M{} {}v10", px(x), px(y - 5.0)),
        };
        path class={ (class) @if !line.decided { " interval" } } d=(mark) {}
        @if let Some(published) = line.published {
            path.m1 d=(marks::path(DIAMOND, axis.at(published), y, 4.0)) {}
        }
        text.label x=(px(name_x)) y=(px(y + text_y)) text-anchor=(name_side) { (shortened(&line.name, CLAIM_LETTERS)) }
        text.value x=(px(verdict_x)) y=(px(y + text_y)) text-anchor=(verdict_side) { (line.verdict) }
    }
}

fn describe_claims(lines: &[ClaimLine]) -> String {
    let message: Vec<String> = lines.iter().map(|line| format!("{} {}", line.name, line.verdict)).collect();
    format!("{}.", message.join("; "))
}

/// Width of the number of a tick, in pixels.
const TICK: f64 = 40.0;
/// Candidate ticks; those that fit are used.
const TICKS: [f64; 21] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0,
];

/// The axis ends here, so that the interval of one noisy estimate does not compress all others.
const WIDEST: f64 = 100.0;

struct RatioAxis<'f> {
    frame: &'f Frame,
    reach: f64,
}

impl<'f> RatioAxis<'f> {
    /// Extends equally far on both sides of 1, to the most distant of the ratios.
    pub(crate) fn of(ratios: impl Iterator<Item = f64>, frame: &'f Frame) -> Self {
        let reach = ratios
            .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
            .map(|ratio| ratio.ln().abs())
            .fold(1.05f64.ln(), f64::max)
            .min(WIDEST.ln());
        Self { frame, reach }
    }

    /// Pixel position of a ratio; ratios beyond the axis are at its end.
    pub(crate) fn at(&self, ratio: f64) -> f64 {
        let Frame { left, right, .. } = *self.frame;
        let share = (ratio.max(1e-9).ln() / self.reach).clamp(-1.0, 1.0);
        f64::midpoint(left, right) + share * (right - left) / 2.0
    }

    /// Grid lines from `top` to `bottom`, their numbers, and the name of the ratio.
    pub(crate) fn drawn(&self, what: &str, top: f64, bottom: f64) -> Markup {
        let Frame { left, right, slim, .. } = *self.frame;
        html! {
            @for tick in &self.ticks() {
                @let x = px(self.at(*tick));
                line class=(if *tick == 1.0 { "none" } else { "grid" }) x1=(x) x2=(x) y1=(px(top)) y2=(px(bottom)) {}
                text.tick x=(x) y=(px(bottom + 14.0)) text-anchor="middle" { (format!("{tick}x")) }
            }
            text.axis x=(px(f64::midpoint(left, right))) y=(px(bottom + 32.0)) text-anchor="middle" { (if slim { "ratio" } else { what }) }
        }
    }

    /// The tick of "no effect" is always present; the others if there is room.
    fn ticks(&self) -> Vec<f64> {
        let mut last = f64::NEG_INFINITY;
        let mut ticks: Vec<f64> = TICKS.into_iter().filter(|tick| tick.ln().abs() <= self.reach * 1.000_1).collect();
        ticks.retain(|tick| {
            let (x, middle) = (self.at(*tick), self.at(1.0));
            let inside = x >= TICK / 2.0 && x <= self.frame.width - TICK / 2.0;
            let room = *tick == 1.0 || (inside && x - last >= TICK && (x - middle).abs() >= TICK);
            if room {
                last = x;
            }
            room
        });
        ticks
    }
}

fn with_ends(ratio: f64, ci: Option<Interval>) -> impl Iterator<Item = f64> {
    [Some(ratio), ci.map(|ci| ci.low), ci.map(|ci| ci.high)].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_small_ratios_have_room() {
        let ci = Some(Interval { low: 0.0097, high: 1.45 });
        let line = ForestLine { label: "huge pages".to_owned(), ratio: 0.12, ci, strong: true, shown: false };
        let [wide, _] = draw_comparisons("effects", "ratio", &[line]).map(Markup::into_string);
        let (_, value) = wide.split_once("class=\"value\" x=\"").unwrap();
        let left: f64 = value.split_once('"').unwrap().0.parse().unwrap();
        let text = "0.12x (0.0097x to 1.45x)";
        assert!(wide.contains(text) && left + LETTER * text.len() as f64 <= COMPARISONS_WIDE.width, "{left}");
    }

    #[test]
    fn lines_of_one_factor_differ_on_a_small_screen() {
        let line = |level: &str| ForestLine {
            label: format!("transaction={level} {level}/hot_points"),
            ratio: 1.0,
            ci: None,
            strong: true,
            shown: false,
        };
        let [_, slim] = draw_comparisons("t", "w", &["insert", "update_index"].map(line));
        let slim = slim.into_string();
        assert_eq!(slim.matches("class=\"m7 interval\"").count(), 2, "not shown is a bar: {slim}");
        let [wide, _] = draw_comparisons("t", "w", &[ForestLine { shown: true, ..line("insert") }]);
        let wide = wide.into_string();
        assert!(wide.contains("class=\"m0\"") && !wide.contains("interval"), "shown is a dot: {wide}");
        assert!(slim.contains(">…nsert insert/hot_points<") && slim.contains(">…update_index/hot_points<"), "{slim}");
    }
}
