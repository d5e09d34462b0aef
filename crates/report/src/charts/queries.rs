//! Every trial of every query as a dot, relative to the mean of the query: one axis for queries of any length.

use super::axis::px;
use super::frame::Frame;
use super::marks;
use maud::{Markup, html};
use tare_text::percent;

/// Names of queries and the marks of their conditions are on the left.
const WIDE: Frame = Frame { width: 960.0, left: 150.0, right: 930.0, slim: false };
const SLIM: Frame = Frame { left: 60.0, right: 326.0, ..Frame::SLIM };
const TOP: f64 = 8.0;
/// Height of one condition of one query, and the gap between queries.
const LINE: f64 = 11.0;
const GAP: f64 = 9.0;

/// A query with all of its trials, grouped by condition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Query {
    pub label: String,
    pub conditions: Vec<(usize, Vec<Dot>)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Dot {
    /// Its mean relative to the mean of all trials: 0.02 is 2% above.
    pub value: f64,
    /// Whether the trial counts although it was disturbed: then the dot is hollow.
    pub disturbed: bool,
}

/// Draws a panel for each query, for wide pages and for small screens.
pub(crate) fn draw(queries: &[Query]) -> [Markup; 2] {
    [WIDE, SLIM].map(|frame| of_frame(queries, &frame))
}

fn of_frame(queries: &[Query], frame: &Frame) -> Markup {
    let (left, right) = (frame.left, frame.right);
    let dots = queries.iter().flat_map(|query| &query.conditions).flat_map(|(_, dots)| dots);
    let reach = dots.map(|dot| dot.value.abs()).fold(0.001, f64::max);
    let at = |value: f64| f64::midpoint(left, right) + value / reach * (right - left) / 2.0;
    let height = |query: &Query| GAP + LINE * query.conditions.len() as f64;
    let tops: Vec<f64> =
        (0..queries.len()).map(|index| TOP + queries[..index].iter().map(height).sum::<f64>()).collect();
    let bottom = TOP + queries.iter().map(height).sum::<f64>();
    let ticks = [-1.0, -0.5, 0.0, 0.5, 1.0].map(|share| share * reach);
    html! {
        svg class=(frame.class()) viewBox=(format!("0 0 {} {}", frame.width, px(bottom + 40.0))) role="img" {
            title { "Every trial of every query, by condition" }
            desc { (queries.len()) " queries; the farthest trial lies " (percent(reach)) " from the mean of its query." }
            @for tick in ticks {
                line.grid x1=(px(at(tick))) x2=(px(at(tick))) y1=(px(TOP)) y2=(px(bottom)) {}
                text.tick x=(px(at(tick))) y=(px(bottom + 14.0)) text-anchor="middle" { (signed(tick)) }
            }
            text.axis x=(px(f64::midpoint(left, right))) y=(px(bottom + 32.0)) text-anchor="middle" {
                (if frame.slim { "against the query's mean" } else { "mean of a trial against the mean of its query over all trials" })
            }
            @for (query, top) in queries.iter().zip(&tops) {
                line.rule x1="0" x2=(px(frame.width)) y1=(px(*top)) y2=(px(*top)) {}
                text.label x=(px(left - 26.0)) y=(px(top + 5.0 + LINE * query.conditions.len() as f64 / 2.0 + 4.0)) text-anchor="end" {
                    (query.label)
                }
                @for (index, (mark, dots)) in query.conditions.iter().enumerate() {
                    @let (class, y) = (marks::class(*mark), top + GAP / 2.0 + LINE * (index as f64 + 0.5));
                    @let (hollow, full): (Vec<&Dot>, Vec<&Dot>) = dots.iter().partition(|dot| dot.disturbed);
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
