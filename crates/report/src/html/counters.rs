//! Global counters: seconds by threads and strategy, as the article prints them, and what was counted.

use super::given::Page;
use super::scroll::scroll;
use crate::words::{counters_head, generator, losses};
use maud::{Markup, html};
use tare_findings::counters::CounterTable;

pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let tables = &page.summary.counters;
    (!tables.is_empty()).then(|| html! { @for table in tables { (one(table)) } })
}

fn one(table: &CounterTable) -> Markup {
    html! {
        (scroll("Seconds by threads and strategy", &html! {
            table {
                caption { (counters_head(table)) }
                thead { tr {
                    th scope="col" { "threads" }
                    @for strategy in &table.strategies { th scope="col" { (strategy) } }
                } }
                tbody { @for (threads, row) in table.threads.iter().zip(&table.cells) { tr {
                    th scope="row" { (threads) }
                    @for cell in row { td { @match cell {
                        Some(cell) => (format!("{:.2}", cell.seconds)),
                        None => "–",
                    } } }
                } } }
            }
        }))
        ul { @for line in losses(table) { li { (line) } } }
        @if let Some(line) = generator(table) { p { (line) "." } }
    }
}
