//! Published claims: the range in which each holds, the published and the measured figure, one line per claim on a
//! logarithmic axis.

use super::axis::px;
use super::dots::shortened;
use super::frame::Frame;
use super::marks;
use super::ratio_axis::{RatioAxis, with_ends};
use maud::{Markup, html};
use tare_stats::Interval;

/// Names are on the left and verdicts on the right, or both above their line on a narrow page.
const WIDE: Frame = Frame { width: 960.0, left: 250.0, right: 790.0, slim: false };
const SLIM: Frame = Frame { left: 8.0, ..Frame::SLIM };
const TOP: f64 = 8.0;
const HEIGHT: f64 = 26.0;
/// Height above a line for its name and verdict, and maximum characters of a name there and in its column.
const ABOVE: f64 = 16.0;
const LETTERS: usize = 34;
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

/// Draws the claims for wide pages and for small screens; `what` is the name of the ratio under the axis.
pub(crate) fn draw(title: &str, what: &str, lines: &[ClaimLine]) -> [Markup; 2] {
    [WIDE, SLIM].map(|frame| of_frame(title, what, lines, &frame))
}

fn of_frame(title: &str, what: &str, lines: &[ClaimLine], frame: &Frame) -> Markup {
    let ends = lines.iter().flat_map(|line| {
        let holds = [line.holds.low, line.holds.high].into_iter().filter(|end| (0.1..=10.0).contains(end));
        with_ends(line.here, line.ci).chain(line.published).chain(holds)
    });
    let axis = RatioAxis::of(ends, frame);
    let above = if frame.slim { ABOVE } else { 0.0 };
    let top = |place: usize| TOP + place as f64 * (above + HEIGHT);
    let bottom = top(lines.len());
    html! {
        svg class=(frame.class()) viewBox=(format!("0 0 {} {}", frame.width, px(bottom + 40.0))) role="img" {
            title { (title) }
            desc { (description(lines)) }
            (axis.drawn(what, TOP, bottom))
            @for (place, line) in lines.iter().enumerate() {
                (draw_line(line, top(place) + above + HEIGHT / 2.0, &axis, frame))
            }
        }
    }
}

fn draw_line(line: &ClaimLine, y: f64, axis: &RatioAxis<'_>, frame: &Frame) -> Markup {
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
        text.label x=(px(name_x)) y=(px(y + text_y)) text-anchor=(name_side) { (shortened(&line.name, LETTERS)) }
        text.value x=(px(verdict_x)) y=(px(y + text_y)) text-anchor=(verdict_side) { (line.verdict) }
    }
}

fn description(lines: &[ClaimLine]) -> String {
    let message: Vec<String> = lines.iter().map(|line| format!("{} {}", line.name, line.verdict)).collect();
    format!("{}.", message.join("; "))
}
