//! How results depend on numeric factors and loads: the scalability law with its steps and predictions, the steps of a
//! load, and builds by loads.

use super::layout::{drawn, fitted, item, lined, titled};
use super::style::{Style, plain};
use crate::tables;
use crate::words::{counters_head, generator, losses};
use tare_findings::counters::CounterTable;
use tare_findings::relative::{RelativeCell, RelativeTable};
use tare_findings::summary::Summary;
use tare_stats::ratio::Verdict;

pub(super) fn laws(summary: &Summary, style: Style) -> Option<String> {
    if summary.scaling.is_empty() {
        return None;
    }
    let head = "scaling: X(N) = base rate N / (1 + contention (N-1) + coherency N (N-1))";
    Some(titled(style, head, &drawn(style, &tables::laws(&summary.scaling))))
}

/// The gain of each step of a ladder, for the headline metric.
pub(super) fn steps(summary: &Summary, style: Style) -> Option<String> {
    tables::steps(summary).map(|(head, steps)| titled(style, &head, &drawn(style, &steps)))
}

/// Seconds by threads and strategy, lost counts, and the time of the random number generator.
pub(super) fn counters(summary: &Summary, style: Style) -> Option<String> {
    let parts: Vec<String> = summary.counters.iter().map(|table| of_table(table, style)).collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

fn of_table(table: &CounterTable, style: Style) -> String {
    let below = losses(table).into_iter().chain(generator(table));
    let lines: String = below.map(|line| item(style, &line)).collect();
    titled(style, &plain(&counters_head(table)), &(drawn(style, &tables::counters(table)) + &lines))
}

/// One line per step and condition; `None` if no load has steps.
pub(super) fn load_steps(summary: &Summary, style: Style) -> Option<String> {
    let table = tables::load_steps(summary)?;
    Some(titled(style, &format!("steps ({})", tables::LOAD_STEPS), &drawn(style, &table)))
}

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
        let mut cells = vec![row.group.to_string(), plain(&row.name())];
        cells.extend(row.cells.iter().map(|cell| cell.as_ref().map_or("-".to_owned(), relative_figure)));
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
fn relative_figure(cell: &RelativeCell) -> String {
    let sign = match cell.verdict {
        Some(Verdict::Faster) => "+",
        Some(Verdict::Slower) => "-",
        Some(Verdict::Equivalent | Verdict::Inconclusive) | None => "",
    };
    let interval = cell.ci.map_or_else(String::new, |ci| format!(" ({:.2} to {:.2})", ci.low, ci.high));
    format!("{:.2}{interval}{sign}", cell.ratio)
}
