//! Global counters: seconds by threads and strategy, what was counted, and what the generator takes.

use super::style::{Style, add, finish};
use super::text::{heading, plain, wrap};
use crate::words::{counters_head, generator, losses};
use tare_findings::counters::CounterTable;
use tare_findings::summary::Summary;

pub(super) fn counters(summary: &Summary, style: Style) -> Option<String> {
    let parts: Vec<String> = summary.counters.iter().map(|table| one(table, style)).collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

fn one(table: &CounterTable, style: Style) -> String {
    let strategies: Vec<String> = table.strategies.iter().map(|strategy| plain(strategy)).collect();
    let heads: Vec<&str> = std::iter::once("threads").chain(strategies.iter().map(String::as_str)).collect();
    let mut rows = style.table(&heads, 1);
    for (threads, row) in table.threads.iter().zip(&table.cells) {
        let seconds =
            row.iter().map(|cell| cell.as_ref().map_or("-".to_owned(), |cell| format!("{:.2}", cell.seconds)));
        add(&mut rows, 1, std::iter::once(threads.to_string()).chain(seconds).collect());
    }
    let below = losses(table).into_iter().chain(generator(table));
    let lines: String = below.map(|line| wrap(style, "  ", "    ", &plain(&line))).collect();
    format!("{}\n{}{lines}", heading(style, &plain(&counters_head(table))), finish(rows))
}
