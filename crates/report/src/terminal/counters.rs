//! Global counters: seconds by threads and strategy, lost counts, and the time of the random number generator.

use super::rows::{drawn, titled};
use super::style::Style;
use super::text::{plain, wrap};
use crate::tables;
use crate::words::{counters_head, generator, losses};
use tare_findings::counters::CounterTable;
use tare_findings::summary::Summary;

pub(super) fn counters(summary: &Summary, style: Style) -> Option<String> {
    let parts: Vec<String> = summary.counters.iter().map(|table| one(table, style)).collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

fn one(table: &CounterTable, style: Style) -> String {
    let below = losses(table).into_iter().chain(generator(table));
    let lines: String = below.map(|line| wrap(style, "  ", "    ", &plain(&line))).collect();
    titled(style, &plain(&counters_head(table)), &(drawn(style, &tables::counters(table)) + &lines))
}
