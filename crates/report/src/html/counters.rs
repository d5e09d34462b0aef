//! Global counters: seconds by threads and strategy, as the article prints them, and what was counted.

use super::given::Page;
use super::scroll::drawn;
use crate::tables;
use crate::words::{counters_head, generator, losses};
use maud::{Markup, html};
use tare_findings::counters::CounterTable;

pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let tables = &page.summary.counters;
    (!tables.is_empty()).then(|| html! { @for table in tables { (one(table)) } })
}

fn one(table: &CounterTable) -> Markup {
    html! {
        (drawn("Seconds by threads and strategy", Some(&counters_head(table)), &tables::counters(table)))
        ul { @for line in losses(table) { li { (line) } } }
        @if let Some(line) = generator(table) { p { (line) "." } }
    }
}
