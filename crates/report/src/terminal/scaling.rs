//! The scalability law, the steps of each ladder, and the predictions of the law; seconds of global counters.

use super::rows::{drawn, titled};
use super::style::Style;
use super::text::{plain, wrap};
use crate::tables;
use crate::words::{counters_head, generator, losses};
use tare_findings::counters::CounterTable;
use tare_findings::summary::Summary;

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
    let lines: String = below.map(|line| wrap(style, "  ", "    ", &plain(&line))).collect();
    titled(style, &plain(&counters_head(table)), &(drawn(style, &tables::counters(table)) + &lines))
}
