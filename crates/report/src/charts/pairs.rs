//! A chart of a paired comparison: the ratio with its interval after each pair, with the range that counts as equal.

use super::alone::standalone;
use super::axis::{Axis, px};
use super::marks::{self, Frame};
use maud::{Markup, html};
use tare_findings::ab::{Ab, Step};
use tare_results::unit::Unit;
use tare_stats::Interval;
use tare_text::percent;

/// The size of the separate picture, and of the chart on pages of normal width.
pub(crate) const WIDE: Frame = Frame { width: 960.0, left: 76.0, right: 930.0, slim: false };
const HEIGHT: f64 = 360.0;
const TOP: f64 = 78.0;
const BOTTOM: f64 = 306.0;
/// Width of the number of a pair, in pixels.
const NUMBER: f64 = 47.0;
/// Intervals are cut if they are wider than this many times the span of the pairs.
const WIDEST: f64 = 1.5;

pub fn picture(sentence: &str, ab: &Ab, course: &[Step]) -> String {
    standalone(&draw(sentence, ab, course, &WIDE).into_string())
}

pub(crate) fn legend(ab: &Ab, course: &[Step]) -> String {
    let disturbed = if course.iter().any(|step| step.disturbed) { " (hollow: disturbed)" } else { "" };
    let equal = percent(ab.rule.minimum_effect);
    format!(
        "interval over all looks, blue where it excludes 1; small: each pair alone{disturbed}; shaded: equal within {equal}"
    )
}

/// Draws the ratio after each pair, with the sentence above it if there is room.
pub(crate) fn draw(sentence: &str, ab: &Ab, course: &[Step], frame: &Frame) -> Markup {
    let e = ab.rule.minimum_effect;
    let equal = Interval { low: 1.0 / (1.0 + e), high: 1.0 + e };
    let axis = axis(course, equal);
    let pairs = course.len() as f64;
    // Half a step of room on both sides.
    let at = |pair: usize| frame.left + (frame.right - frame.left) * (pair as f64 - 0.5) / pairs;
    let (upper, lower) = (axis.at(equal.high), axis.at(equal.low));
    let every = course.len().div_ceil(((frame.right - frame.left) / NUMBER) as usize);
    let metric = ab.metric.as_deref().unwrap_or("the metric");
    let shown = |ci: Option<Interval>| if ci.is_some_and(|ci| !ci.contains(1.0)) { "m0" } else { "m7" };
    html! {
        svg class=(frame.class()) viewBox=(format!("0 0 {} {HEIGHT}", frame.width)) role="img" {
            title { (sentence) }
            desc { "B/A of " (metric) " with its interval after each of " (course.len()) " pairs; between "
                (format!("{:.4}", equal.low)) " and " (format!("{:.4}", equal.high)) " B and A count as equal." }
            @if frame.slim {
                text.axis x="2" y="38" { "B/A of " (metric) }
                text.axis x="2" y="54" { (axis.label("").trim()) }
            } @else {
                text.label x="16" y="24" { (sentence) }
                text.axis x="16" y="44" { (axis.label(&format!("B/A of {metric}"))) }
                text.axis x="16" y="60" { (legend(ab, course)) }
            }
            rect.equal x=(px(frame.left)) y=(px(upper)) width=(px(frame.right - frame.left)) height=(px(lower - upper)) {}
            (axis.vertical(frame.left, frame.right))
            line.none x1=(px(frame.left)) x2=(px(frame.right)) y1=(px(axis.at(1.0))) y2=(px(axis.at(1.0))) {}
            @for step in course {
                @let x = at(step.pair);
                @if step.pair % every == 0 || step.pair == 1 {
                    text.tick x=(px(x)) y=(px(BOTTOM + 16.0)) text-anchor="middle" { (step.pair) }
                }
                path class={ "trial m7" @if step.disturbed { " disturbed" } } d=(marks::path(0, x, axis.at(step.own), 2.4)) {}
                @if let Some(ratio) = step.ratio {
                    @if let Some(ci) = ratio.ci {
                        path class={ "interval " (shown(Some(ci))) }
                            d=(format!("M{} {}V{}", px(x), px(axis.at(ci.low)), px(axis.at(ci.high)))) {}
                    }
                    circle class=(shown(ratio.ci)) cx=(px(x)) cy=(px(axis.at(ratio.value))) r="4" {
                        title { "pair " (step.pair) ": B/A " (format!("{:.4}", ratio.value)) }
                    }
                }
            }
            text.axis x=(px(f64::midpoint(frame.left, frame.right))) y=(px(BOTTOM + 38.0)) text-anchor="middle" { "pairs" }
        }
    }
}

/// An axis that includes the range that counts as equal, every pair, and as much of the intervals as leaves these
/// readable.
fn axis(course: &[Step], equal: Interval) -> Axis {
    let points = course.iter().flat_map(|step| [Some(step.own), step.ratio.map(|ratio| ratio.value)]).flatten();
    let (low, high) =
        points.fold((equal.low, equal.high), |(low, high), value| (f64::min(low, value), f64::max(high, value)));
    let room = (high - low) * (WIDEST - 1.0);
    let ends = course.iter().filter_map(|step| step.ratio?.ci);
    let (least, most) = ends.fold((low, high), |(least, most), ci| (least.min(ci.low), most.max(ci.high)));
    Axis::new([least.max(low - room).max(0.0), most.min(high + room)].into_iter(), Unit::Plain, BOTTOM, TOP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_stats::Estimate;

    #[test]
    fn a_wide_first_interval_leaves_the_later_ones_readable() {
        let step = |pair: usize, half: f64| Step {
            pair,
            own: 1.02,
            disturbed: false,
            ratio: Some(Estimate { value: 1.02, ci: Some(Interval { low: 1.02 - half, high: 1.02 + half }) }),
        };
        let course = [step(3, 0.9), step(4, 0.03), step(5, 0.01)];
        let axis = axis(&course, Interval { low: 0.98, high: 1.02 });
        let (wide, narrow) = (axis.at(1.02 - 0.9), axis.at(1.02 - 0.01));
        // The last interval is still at least a tenth of the picture high.
        assert!(2.0 * (narrow - axis.at(1.02)) > 0.1 * (BOTTOM - TOP), "{narrow}");
        assert!(wide <= BOTTOM);
    }
}
