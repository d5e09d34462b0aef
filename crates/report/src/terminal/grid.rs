//! Client location by server location, as the articles on placement print it.

use super::style::{Style, add, finish};
use super::text::{heading, plain};
use tare_findings::figures::Scale;
use tare_findings::grid::{GridCell, PlacementGrid, place_words};
use tare_findings::level_words::words_of;
use tare_findings::summary::Summary;

pub(super) fn grids(summary: &Summary, style: Style) -> Option<String> {
    let parts: Vec<String> = summary.placement_grids.iter().map(|grid| one(grid, summary, style)).collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

fn one(grid: &PlacementGrid, summary: &Summary, style: Style) -> String {
    let cells = || grid.cells.iter().flatten().flatten();
    let largest = cells().map(|cell| cell.mean.abs()).fold(0.0, f64::max);
    let unit = cells().find_map(|cell| Some(summary.metric(&cell.condition, &grid.metric)?.unit.as_str()));
    let scale = Scale::new(unit.unwrap_or_default(), largest, 4);
    let servers: Vec<String> = grid.servers.iter().map(|server| plain(&place_words(server))).collect();
    let heads: Vec<&str> = std::iter::once("clients on").chain(servers.iter().map(String::as_str)).collect();
    let mut rows = style.table(&heads, 1);
    for (client, row) in grid.clients.iter().zip(&grid.cells) {
        let figures =
            row.iter().map(|found| found.as_ref().map_or("-".to_owned(), |found| cell(found, grid, summary, &scale)));
        add(&mut rows, 1, std::iter::once(plain(&place_words(client))).chain(figures).collect());
    }
    let unit = if scale.unit.is_empty() { String::new() } else { format!(", {}", scale.unit) };
    let at = if grid.levels.is_empty() { String::new() } else { format!(" at {}", plain(&words_of(&grid.levels))) };
    let head = format!(
        "{}{unit}: clients by row, server by column{at} (mean ± half of the 95% interval, or modes)",
        grid.metric
    );
    format!("{}\n{}", heading(style, &head), finish(rows))
}

fn cell(found: &GridCell, grid: &PlacementGrid, summary: &Summary, scale: &Scale) -> String {
    let metric = summary.metric(&found.condition, &grid.metric);
    metric.map_or(String::new(), |metric| scale.middle(metric.middle()).join("\n"))
}
