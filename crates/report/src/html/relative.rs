//! Builds by loads: relative throughput with colour where it is decided, and what an operation costs.

use super::given::Page;
use super::scroll::{drawn, scroll};
use crate::tables;
use maud::{Markup, html};
use tare_findings::level_words::words_of;
use tare_findings::relative::{RelativeCell, RelativeTable};
use tare_stats::ratio::Verdict;

const COSTS: [&str; 7] = ["CPU µs", "switches", "reads", "writes", "flushes", "read KB", "written KB"];

/// The table; none where no load varies alongside builds or an option.
pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let table = RelativeTable::of(page.summary)?;
    Some(html! {
        p.note {
            (table.metric) " divided by that of " (table.columns[0]) ", base = 1.00. Coloured where it is decided, at "
            "95% over all cells together; intervals are 95% of each cell alone. Costs are those of the server for an operation; "
            "reads, writes and flushes are requests to the devices that hold its files, whoever made them."
        }
        (scroll("Relative throughput", &html! {
            table {
                thead { tr {
                    th.l scope="col" { "group" } th.l scope="col" { "load" }
                    @for column in &table.columns { th scope="col" { (column) } }
                } }
                tbody { @for row in &table.rows { tr {
                    td.l { (row.group.name()) } th scope="row" { (words_of(&row.levels)) }
                    @for cell in &row.cells { (figure(cell.as_ref())) }
                } } }
            }
        }))
        @if table.has_costs() {
            (drawn("Cost of an operation", None, &tables::costs(&table, COSTS)))
        }
    })
}

fn figure(cell: Option<&RelativeCell>) -> Markup {
    let Some(cell) = cell else { return html! { td { "–" } } };
    let (class, sign) = match cell.verdict {
        Some(Verdict::Faster) => ("faster", "▲ "),
        Some(Verdict::Slower) => ("slower", "▼ "),
        Some(Verdict::Equivalent | Verdict::Inconclusive) | None => ("", ""),
    };
    let interval = cell.ci.map(|ci| format!(" ({:.2} to {:.2})", ci.low, ci.high));
    html! {
        td class=(class) {
            (sign) (format!("{:.2}", cell.ratio))
            @if let Some(interval) = interval { small { (interval) } }
        }
    }
}
