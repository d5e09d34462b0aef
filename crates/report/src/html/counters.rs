//! Global counters: seconds by threads and strategy, as the article prints them, and what was counted.

use super::given::Page;
use super::scroll::Head::R;
use super::scroll::captioned;
use crate::words::{counters_head, generator, losses};
use maud::{Markup, html};
use tare_findings::counters::{CounterCell, CounterTable};

pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let tables = &page.summary.counters;
    (!tables.is_empty()).then(|| html! { @for table in tables { (one(table)) } })
}

fn one(table: &CounterTable) -> Markup {
    let heads: Vec<_> = std::iter::once("threads").chain(table.strategies.iter().map(String::as_str)).map(R).collect();
    let seconds = |cell: &Option<CounterCell>| {
        html! { (cell.as_ref().map_or("–".to_owned(), |cell| format!("{:.2}", cell.seconds))) }
    };
    let rows = table.threads.iter().zip(&table.cells);
    let rows = rows.map(|(threads, row)| std::iter::once(html! { (threads) }).chain(row.iter().map(seconds)).collect());
    html! {
        (captioned("Seconds by threads and strategy", &counters_head(table), &heads, rows))
        ul { @for line in losses(table) { li { (line) } } }
        @if let Some(line) = generator(table) { p { (line) "." } }
    }
}
