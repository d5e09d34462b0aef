//! Builds by loads: relative throughput, and what an operation costs.

use super::style::{Style, add, finish};
use super::text::{heading, plain};
use tare_findings::level_words::words_of;
use tare_findings::relative::{Cost, RelativeCell, RelativeTable};
use tare_findings::summary::Summary;
use tare_stats::ratio::Verdict;

/// Why a pair has two ratios, here and in the table of effects.
pub(super) const RATIO: &str = "ratio of the means; effects are geometric means of blocks' ratios and may differ";

/// The table of the summary; none where no load varies alongside builds or an option.
pub(super) fn relative(summary: &Summary, style: Style) -> Option<String> {
    let table = RelativeTable::of(summary)?;
    let base = plain(&table.columns[0]);
    let mut heads = vec!["group".to_owned(), "load".to_owned()];
    heads.extend(table.columns.iter().map(|column| plain(column)));
    let mut rows = style.table(&heads.iter().map(String::as_str).collect::<Vec<_>>(), 2);
    for row in &table.rows {
        let mut cells = vec![row.group.name().to_owned(), plain(&words_of(&row.levels))];
        cells.extend(row.cells.iter().map(|cell| cell.as_ref().map_or("-".to_owned(), figure)));
        add(&mut rows, 2, cells);
    }
    let head = format!(
        "{} of each {} / {base} ({RATIO}; + better, - worse: decided at 95% over all cells; intervals are for each alone)",
        table.metric,
        plain(&table.factor)
    );
    let mut parts = vec![format!("{}\n{}", heading(style, &head), finish(rows))];
    if table.has_costs() {
        let factor = plain(&table.factor);
        let heads = ["load", &factor, "cpu us/o", "cs/o", "r/o", "w/o", "flushes/o", "read KB/o", "written KB/o"];
        let mut rows = style.table(&heads, 2);
        for row in &table.rows {
            for (column, cell) in table.columns.iter().zip(&row.cells) {
                let Some(cell) = cell else { continue };
                let named = [plain(&words_of(&row.levels)), plain(column)];
                add(&mut rows, 2, named.into_iter().chain(costs(&cell.cost)).collect());
            }
        }
        parts.push(format!("{}\n{}", heading(style, "what an operation costs the server"), finish(rows)));
    }
    Some(parts.join("\n"))
}

/// A cell: two digits, its interval, and a sign where it is decided.
fn figure(cell: &RelativeCell) -> String {
    let sign = match cell.verdict {
        Some(Verdict::Faster) => "+",
        Some(Verdict::Slower) => "-",
        Some(Verdict::Equivalent | Verdict::Inconclusive) | None => "",
    };
    let interval = cell.ci.map_or_else(String::new, |ci| format!(" ({:.2} to {:.2})", ci.low, ci.high));
    format!("{:.2}{interval}{sign}", cell.ratio)
}

/// CPU time, switches, requests to storage, kilobytes read and written, as people read them.
fn costs(cost: &Cost) -> [String; 7] {
    let kilobytes = |bytes: Option<f64>| bytes.map(|bytes| bytes / 1000.0);
    let Cost { cpu_us, switches, reads, writes, flushes, read_bytes, written_bytes } = *cost;
    [cpu_us, switches, reads, writes, flushes, kilobytes(read_bytes), kilobytes(written_bytes)]
        .map(|figure| figure.map_or("-".to_owned(), |figure| format!("{figure:.2}")))
}
