//! Client location by server location: means with intervals, and the mean of every trial below them.

use super::given::Page;
use super::scroll::scroll;
use crate::figures::Scale;
use crate::tables;
use maud::{Markup, html};
use tare_findings::factors::words_of;
use tare_findings::placement::{GridCell, PlacementGrid, place_words};

const LISTED: usize = 12;

pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let grids = &page.summary.placement_grids;
    (!grids.is_empty()).then(|| {
        html! {
            p.note {
                "Clients by row, server by column, each with its CPUs on this machine. Mean ± half of the 95% interval over trials, or its modes with their shares of the trials; "
                "below it the mean of each trial, in the order in which they ran."
            }
            @for grid in grids { (table(page, grid)) }
        }
    })
}

fn table(page: &Page<'_>, grid: &PlacementGrid) -> Markup {
    let scale = tables::scale_of(grid, page.summary);
    let at = if grid.levels.is_empty() { String::new() } else { format!(", {}", words_of(&grid.levels)) };
    let unit = if scale.unit.is_empty() { String::new() } else { format!(", {}", scale.unit) };
    html! {
        (scroll(&format!("Clients by server locations{at}"), &html! {
            table {
                caption { (grid.metric) (unit) (at) }
                thead { tr {
                    th.l scope="col" { "clients on" }
                    @for server in &grid.servers { th scope="col" { "server on " (place_words(server)) } }
                } }
                tbody { @for (client, row) in grid.clients.iter().zip(&grid.cells) { tr {
                    th scope="row" { (place_words(client)) }
                    @for found in row { td { @match found {
                        Some(found) => (cell(page, grid, found, &scale)),
                        None => "–",
                    } } }
                } } }
            }
        }))
    }
}

fn cell(page: &Page<'_>, grid: &PlacementGrid, found: &GridCell, scale: &Scale) -> Markup {
    let listed: Vec<String> = found.trials.iter().take(LISTED).map(|mean| scale.number(*mean)).collect();
    let more = if found.trials.len() > LISTED { " …" } else { "" };
    let metric = page.summary.metric(&found.condition, &grid.metric);
    let middle = metric.map_or(Vec::new(), |metric| scale.middle(metric.middle()));
    html! { @for line in middle { (line) br; } small { (listed.join(" ")) (more) } }
}
