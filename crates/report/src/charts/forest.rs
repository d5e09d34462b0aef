//! The forest plot: one line per ratio with its interval, on a logarithmic axis around "no effect".

use super::axis::px;
use super::dots::shortened;
use super::frame::{Frame, LETTER};
use super::marks;
use super::ratio_axis::{RatioAxis, with_ends};
use crate::figures::times;
use maud::{Markup, html};
use tare_stats::Interval;
use tare_text::count;

/// Labels are on the left and figures on the right, or both above their line on a narrow page.
const WIDE: Frame = Frame { width: 960.0, left: 330.0, right: 800.0, slim: false };
const SLIM: Frame = Frame { left: 8.0, ..Frame::SLIM };
/// Height above a line for its label and figures, and maximum characters of the label there.
const ABOVE: f64 = 18.0;
const LETTERS_ABOVE: usize = 24;
/// Maximum characters of a label in its column.
const LETTERS: usize = 50;
/// Maximum characters of figures to the right of a plot of the usual width, and of a label and figures on one line.
const FIGURES: usize = 22;
const LINE: usize = LETTERS_ABOVE + FIGURES;
const TOP: f64 = 8.0;

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
pub(crate) fn draw(title: &str, what: &str, lines: &[ForestLine]) -> [Markup; 2] {
    let longest = lines.iter().map(|line| figures(line).chars().count()).max().unwrap_or_default();
    let wide = Frame { right: WIDE.right - LETTER * longest.saturating_sub(FIGURES) as f64, ..WIDE };
    [wide, SLIM].map(|frame| of_frame(title, what, lines, &frame))
}

fn figures(line: &ForestLine) -> String {
    let interval = line.ci.map(|Interval { low, high }| format!(" ({} to {})", times(low), times(high)));
    times(line.ratio) + &interval.unwrap_or_default()
}

fn of_frame(title: &str, what: &str, lines: &[ForestLine], frame: &Frame) -> Markup {
    let axis = RatioAxis::of(lines.iter().flat_map(|line| with_ends(line.ratio, line.ci)), frame);
    let above = if frame.slim { ABOVE } else { 0.0 };
    let heights: Vec<f64> = lines.iter().map(|line| above + if line.strong { 24.0 } else { 17.0 }).collect();
    let bottom = TOP + heights.iter().sum::<f64>();
    let tops: Vec<f64> = (0..lines.len()).map(|index| TOP + heights[..index].iter().sum::<f64>()).collect();
    html! {
        svg class=(frame.class()) viewBox=(format!("0 0 {} {}", frame.width, px(bottom + 40.0))) role="img" {
            title { (title) }
            desc { (description(lines)) }
            (axis.drawn(what, TOP, bottom))
            @for ((line, top), height) in lines.iter().zip(&tops).zip(&heights) {
                (draw_line(line, top + above / 2.0 + height / 2.0, &axis, frame))
            }
        }
    }
}

fn draw_line(line: &ForestLine, y: f64, axis: &RatioAxis<'_>, frame: &Frame) -> Markup {
    let at = |ratio| axis.at(ratio);
    let class = if line.shown { "m0" } else { "m7" };
    let radius = if line.strong { 5.0 } else { 3.2 };
    let figures = figures(line);
    let (text_y, label) = match frame.slim {
        // The end of the label has the levels, which distinguish lines of one factor.
        true => (-9.0, tare_text::ending(&line.label, LETTERS_ABOVE.min(LINE.saturating_sub(figures.chars().count())))),
        false => (4.0, shortened(&line.label, LETTERS)),
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

fn description(lines: &[ForestLine]) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_small_ratios_have_room() {
        let ci = Some(Interval { low: 0.0097, high: 1.45 });
        let line = ForestLine { label: "huge pages".to_owned(), ratio: 0.12, ci, strong: true, shown: false };
        let [wide, _] = draw("effects", "ratio", &[line]).map(Markup::into_string);
        let (_, value) = wide.split_once("class=\"value\" x=\"").unwrap();
        let left: f64 = value.split_once('"').unwrap().0.parse().unwrap();
        let text = "0.12x (0.0097x to 1.45x)";
        assert!(wide.contains(text) && left + LETTER * text.len() as f64 <= WIDE.width, "{left}");
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
        let [_, slim] = draw("t", "w", &["insert", "update_index"].map(line));
        let slim = slim.into_string();
        assert_eq!(slim.matches("class=\"m7 interval\"").count(), 2, "not shown is a bar: {slim}");
        let [wide, _] = draw("t", "w", &[ForestLine { shown: true, ..line("insert") }]);
        let wide = wide.into_string();
        assert!(wide.contains("class=\"m0\"") && !wide.contains("interval"), "shown is a dot: {wide}");
        assert!(slim.contains(">…nsert insert/hot_points<") && slim.contains(">…update_index/hot_points<"), "{slim}");
    }
}
