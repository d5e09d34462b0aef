//! The tables of `tare topo --measure`.

use super::layout::{lined, wrap};
use super::style::Style;
use tare_topology::measure::{Cost, Costs, Measured};

pub fn measured(measured: &Measured, costs: &Costs, style: Style) -> String {
    let mut text = String::from("\nmeasured:\n");
    for sentence in &costs.sentences {
        text.push_str(&wrap(style, "- ", "  ", sentence));
    }
    text.push_str("\na cache line there and back, by how near two PUs are:\n");
    let near = |cost: &Cost| vec![cost.pairing.to_string(), format!("{:.0}", cost.median_ns), cost.pairs.to_string()];
    text.push_str(&lined(style, &["", "median ns", "pairs"], 1, costs.line.iter().map(near)));
    text.push_str("\na cache line there and back, ns, between PUs:\n");
    text.push_str(&matrix(style, "PU", &measured.cpus, &measured.cpus, &measured.line_ns, |ns| format!("{ns:.0}")));
    text.push_str("\nlatency of memory, ns, from a row's node to a column's memory:\n");
    let (from, to) = (&measured.from_nodes, &measured.to_nodes);
    text.push_str(&matrix(style, "node", from, to, &measured.latency_ns, |ns| format!("{ns:.0}")));
    text.push_str("\nbandwidth of memory, GB/s, read by a row's node from a column's memory:\n");
    text.push_str(&matrix(style, "node", from, to, &measured.bandwidth_bytes_per_s, |rate| {
        format!("{:.1}", rate / 1e9)
    }));
    for note in &measured.notes {
        text.push_str(&wrap(style, "\nnote: ", "  ", note));
    }
    text
}

/// A table, if it fits the width of the terminal.
fn matrix(
    style: Style,
    what: &str,
    rows: &[u32],
    columns: &[u32],
    values: &[Vec<Option<f64>>],
    figure: impl Fn(f64) -> String,
) -> String {
    let cell = |value: &Option<f64>| value.map_or("-".to_owned(), &figure);
    let widest = values.iter().flatten().map(|value| cell(value).len()).max().unwrap_or(1).max(3);
    if (columns.len() + 1) * (widest + 2) > style.width.map_or(usize::MAX, usize::from) {
        return format!("  {} by {}: too wide for a terminal, see --html or --json\n", rows.len(), columns.len());
    }
    let head: Vec<String> = std::iter::once(what.to_owned()).chain(columns.iter().map(u32::to_string)).collect();
    let row =
        |(row, values): (&u32, &Vec<_>)| std::iter::once(row.to_string()).chain(values.iter().map(cell)).collect();
    let heads: Vec<&str> = head.iter().map(String::as_str).collect();
    lined(style, &heads, 1, rows.iter().zip(values).map(row))
}
