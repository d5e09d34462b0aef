//! Client location by server location, in the form used by ["Benchmarking? Mind your
//! core."](https://mysqlonarm.github.io/Benchmarking-Mind-Your-Core/).

use super::rows::{lined, titled};
use super::style::Style;
use super::text::plain;
use crate::figures::Scale;
use crate::tables;
use tare_findings::factors::words_of;
use tare_findings::placement::{GridCell, PlacementGrid, place_words};
use tare_findings::summary::Summary;

pub(super) fn grids(summary: &Summary, style: Style) -> Option<String> {
    let parts: Vec<String> = summary.placement_grids.iter().map(|grid| one(grid, summary, style)).collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

fn one(grid: &PlacementGrid, summary: &Summary, style: Style) -> String {
    let scale = tables::scale_of(grid, summary);
    let servers: Vec<String> = grid.servers.iter().map(|server| plain(&place_words(server))).collect();
    let heads: Vec<&str> = std::iter::once("clients on").chain(servers.iter().map(String::as_str)).collect();
    let rows = grid.clients.iter().zip(&grid.cells).map(|(client, row)| {
        let figure = |found: &GridCell| cell(found, grid, summary, &scale);
        let figures = row.iter().map(|found| found.as_ref().map_or("-".to_owned(), figure));
        std::iter::once(plain(&place_words(client))).chain(figures).collect()
    });
    let unit = if scale.unit.is_empty() { String::new() } else { format!(", {}", scale.unit) };
    let at = if grid.levels.is_empty() { String::new() } else { format!(" at {}", plain(&words_of(&grid.levels))) };
    let head = format!(
        "{}{unit}: clients by row, server by column{at} (mean ± half of the 95% interval, or modes)",
        grid.metric
    );
    titled(style, &head, &lined(style, &heads, 1, rows))
}

fn cell(found: &GridCell, grid: &PlacementGrid, summary: &Summary, scale: &Scale) -> String {
    let metric = summary.metric(&found.condition, &grid.metric);
    metric.map_or(String::new(), |metric| scale.middle(metric.middle()).join("\n"))
}
