//! Every trial of every query as a dot, relative to the query's own mean: one axis for queries of any length.

use super::axis::px;
use super::marks;
use maud::{Markup, html};
use tare_findings::figures::percent;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 150.0;
const RIGHT: f64 = 930.0;
const TOP: f64 = 8.0;
/// Height of one condition of one query, and the gap between queries.
const LINE: f64 = 11.0;
const GAP: f64 = 9.0;

/// A query with all of its trials, a group a condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Its name, above the panel.
    pub label: String,
    /// Each condition's mark, and its trial means relative to the mean of them all (0.02 is 2% above).
    pub conditions: Vec<(usize, Vec<f64>)>,
}

/// Draws a panel for each query.
pub fn draw(queries: &[Query]) -> Markup {
    let values = || queries.iter().flat_map(|query| &query.conditions).flat_map(|(_, values)| values).copied();
    let reach = values().map(f64::abs).fold(0.001, f64::max);
    let at = |value: f64| (LEFT + RIGHT) / 2.0 + value / reach * (RIGHT - LEFT) / 2.0;
    let height = |query: &Query| GAP + LINE * query.conditions.len() as f64;
    let tops: Vec<f64> =
        (0..queries.len()).map(|index| TOP + queries[..index].iter().map(height).sum::<f64>()).collect();
    let bottom = TOP + queries.iter().map(height).sum::<f64>();
    let ticks = [-1.0, -0.5, 0.0, 0.5, 1.0].map(|share| share * reach);
    html! {
        svg.chart viewBox=(format!("0 0 {WIDTH} {}", px(bottom + 40.0))) role="img" {
            title { "Every trial of every query, by condition" }
            desc { (queries.len()) " queries; the farthest trial lies " (percent(reach)) " from the mean of its query." }
            @for tick in ticks {
                line.grid x1=(px(at(tick))) x2=(px(at(tick))) y1=(px(TOP)) y2=(px(bottom)) {}
                text.tick x=(px(at(tick))) y=(px(bottom + 14.0)) text-anchor="middle" { (signed(tick)) }
            }
            text.axis x=(px((LEFT + RIGHT) / 2.0)) y=(px(bottom + 32.0)) text-anchor="middle" {
                "mean of a trial against the mean of its query over all trials"
            }
            @for (query, top) in queries.iter().zip(&tops) {
                line.rule x1="0" x2=(px(WIDTH)) y1=(px(*top)) y2=(px(*top)) {}
                text.label x=(px(LEFT - 26.0)) y=(px(top + 5.0 + LINE * query.conditions.len() as f64 / 2.0 + 4.0)) text-anchor="end" {
                    (query.label)
                }
                @for (index, (mark, values)) in query.conditions.iter().enumerate() {
                    @let y = top + GAP / 2.0 + LINE * (index as f64 + 0.5);
                    path class=(marks::class(*mark)) d=(marks::path(*mark, LEFT - 14.0, y, 3.0)) {}
                    path class=(format!("dots small {}", marks::class(*mark))) d=(marks::dots(values.iter().map(|v| (at(*v), y)))) {}
                }
            }
        }
    }
}

fn signed(fraction: f64) -> String {
    let sign = if fraction > 0.0 { "+" } else { "" };
    format!("{sign}{}", percent(fraction))
}
