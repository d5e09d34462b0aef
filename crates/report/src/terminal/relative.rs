//! Builds by loads: relative throughput, and the cost per operation.

use super::rows::{drawn, fitted, lined, titled};
use super::style::Style;
use super::text::plain;
use crate::tables;
use tare_findings::relative::{RelativeCell, RelativeTable};
use tare_findings::summary::Summary;
use tare_stats::ratio::Verdict;

/// Why a pair has two ratios, here and in the table of effects.
pub(super) const RATIO: &str = "ratio of the means; effects are geometric means of blocks' ratios and may differ";

const COSTS: [&str; 8] = ["cpu us/o", "of base", "cs/o", "r/o", "w/o", "flushes/o", "read KB/o", "written KB/o"];

/// The tables of the summary; `None` unless loads vary together with builds or an option.
pub(super) fn relative(summary: &Summary, style: Style) -> Option<String> {
    let table = RelativeTable::of(summary)?;
    let base = plain(&table.columns[0]);
    let columns: Vec<String> = table.columns.iter().map(|column| plain(column)).collect();
    let heads: Vec<&str> = ["group", "load"].into_iter().chain(columns.iter().map(String::as_str)).collect();
    let rows = table.rows.iter().map(|row| {
        let mut cells = vec![row.group.name().to_owned(), plain(&row.name())];
        cells.extend(row.cells.iter().map(|cell| cell.as_ref().map_or("-".to_owned(), figure)));
        cells
    });
    let head = format!(
        "{} of each {} / {base} ({RATIO}; + better, - worse: decided over all cells at the rate of the first \
         sentence; intervals are for each alone)",
        table.metric,
        plain(&table.factor)
    );
    let mut parts = Vec::new();
    if !table.groups.is_empty() {
        let head = format!("{} / {base} by groups of loads: geometric mean, least and most", table.metric);
        parts.push(titled(style, &head, &fitted(style, &tables::load_groups(&table))));
    }
    parts.push(titled(style, &head, &lined(style, &heads, 2, rows)));
    if table.has_costs() {
        let costs = tables::costs(&table, COSTS);
        parts.push(titled(style, "what an operation costs the server", &drawn(style, &costs)));
    }
    Some(parts.join("\n"))
}

/// A cell: two digits, the interval, and a sign if the difference is decided.
fn figure(cell: &RelativeCell) -> String {
    let sign = match cell.verdict {
        Some(Verdict::Faster) => "+",
        Some(Verdict::Slower) => "-",
        Some(Verdict::Equivalent | Verdict::Inconclusive) | None => "",
    };
    let interval = cell.ci.map_or_else(String::new, |ci| format!(" ({:.2} to {:.2})", ci.low, ci.high));
    format!("{:.2}{interval}{sign}", cell.ratio)
}
