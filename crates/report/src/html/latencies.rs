//! Latency of transactions by percentile, over all trials of a condition.

use super::document::either;
use super::given::Page;
use super::scroll::Head::{L, R};
use super::scroll::{row, table};
use crate::charts::distribution::{self, DistributionLine, LINES};
use crate::charts::frame::Frame;
use crate::figures::figure;
use maud::{Markup, html};
use std::collections::BTreeSet;
use tare_findings::latencies::Distribution;
use tare_text::count;

/// Maximum conditions drawn; `tare show --json` has all.
const CONDITIONS: usize = 3 * LINES;
const PARTS: usize = 24;
const COLUMNS: [(&str, f64); 6] =
    [("p50", 50.0), ("p90", 90.0), ("p95", 95.0), ("p99", 99.0), ("p99.9", 99.9), ("longest", 100.0)];

/// Charts and a table for transactions, and folded ones for each statement or kind of transaction.
pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let conditions = &page.summary.conditions;
    let parts: BTreeSet<&str> = conditions.iter().flat_map(|c| &c.latencies).map(|found| found.of.as_str()).collect();
    let whole = conditions.iter().flat_map(|c| c.latencies.first()).map(|found| found.of.as_str()).next()?;
    let others: Vec<&str> = parts.into_iter().filter(|part| *part != whole).collect();
    let left_out = others.len().saturating_sub(PARTS);
    Some(html! {
        p.note {
            "All transactions of a condition's trials together, so percentiles here have no interval; those of the tables "
            "of metrics are means over trials, with an interval. A line ends at the longest latency of all."
        }
        (of_part(page, whole))
        @for part in others.iter().take(PARTS) {
            details { summary { (part) } (of_part(page, part)) }
        }
        @if left_out > 0 { p.note { (left_out) " more are in tare show --json." } }
    })
}

fn of_part(page: &Page<'_>, part: &str) -> Markup {
    let all: Vec<DistributionLine<'_>> = page
        .summary
        .conditions
        .iter()
        .filter_map(|condition| Some((&condition.name, condition.latencies.iter().find(|found| found.of == part)?)))
        .enumerate()
        .map(|(place, (name, distribution))| {
            // With more conditions than marks, each chart numbers its own.
            let mark = if page.has_marks() { page.mark(name) } else { place % LINES };
            DistributionLine { name, mark, distribution }
        })
        .collect();
    let left_out = all.len().saturating_sub(CONDITIONS);
    let drawn = &all[..all.len().min(CONDITIONS)];
    html! {
        @for (number, lines) in drawn.chunks(LINES).enumerate() {
            @let label = format!("Latency of {part} by percentile{}", if number > 0 { format!(", {}", number + 1) } else { String::new() });
            @let frames = [Frame::wide(lines.iter().map(|line| line.name)), Frame::SLIM];
            @let [wide, slim] = frames.map(|frame| distribution::draw(part, lines, &frame));
            figure { figcaption { (label) } (either(&label, &wide, &slim)) }
        }
        (percentiles(&format!("Percentiles of the latency of {part}"), page, drawn))
        @if left_out > 0 { p.note { (count(left_out, "more condition")) " are in tare show --json." } }
    }
}

fn percentiles(label: &str, page: &Page<'_>, lines: &[DistributionLine<'_>]) -> Markup {
    let cell = |found: &Distribution, percentile| found.at(percentile).map(|ms| figure(ms, "ms")).unwrap_or_default();
    let heads: Vec<_> =
        [L("condition"), R("transactions")].into_iter().chain(COLUMNS.map(|(name, _)| R(name))).collect();
    let rows = lines.iter().map(|line| {
        let mut row = row![html! { (page.swatch(line.name)) (line.name) }, line.distribution.count];
        row.extend(COLUMNS.map(|(_, percentile)| html! { (cell(line.distribution, percentile)) }));
        row
    });
    table(label, &heads, rows)
}
