//! What distance between nodes costs: each condition's own distances next to its figure.

use super::given::Page;
use super::scroll::Head::{L, R};
use super::scroll::{row, table};
use crate::words;
use maud::{Markup, html};
use tare_findings::distance::{DistanceCost, Point};
use tare_findings::figures::Scale;

pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let found = &page.summary.distance;
    (!found.is_empty()).then(|| html! { @for cost in found { p { (words::distance(cost)) "." } (points(cost)) } })
}

fn points(cost: &DistanceCost) -> Markup {
    let largest = cost.points.iter().map(|point| point.mean.abs()).fold(0.0, f64::max);
    let scale = Scale::new(tare_results::metric::describe(&cost.metric).unit, largest, 4);
    let ns = |value: Option<f64>| value.map_or("–".to_owned(), |ns| format!("{ns:.0} ns"));
    // The nearest first.
    let mut points: Vec<&Point> = cost.points.iter().collect();
    let near = |point: &Point| point.line_ns.unwrap_or_default() + point.memory_ns.unwrap_or_default();
    points.sort_by(|a, b| near(a).total_cmp(&near(b)));
    let heads = [L("condition"), R(&cost.metric), R("line, client and server"), R("load, server to memory")];
    let row = |point: &Point| row![point.condition, scale.figure(point.mean), ns(point.line_ns), ns(point.memory_ns)];
    table("Conditions with their distances", &heads, points.into_iter().map(row))
}
