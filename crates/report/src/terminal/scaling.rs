//! How results depend on numeric factors and loads: the scalability law with its steps and predictions, the steps of a
//! load, and builds by loads.

use super::layout::{drawn, fitted, item, lined, titled};
use super::style::{Style, plain};
use crate::tables;
use crate::words::{counters_head, generator, losses};
use tare_findings::condition::ConditionSummary;
use tare_findings::counters::CounterTable;
use tare_findings::relative::{RelativeCell, RelativeTable};
use tare_findings::summary::Summary;
use tare_results::steps::{Figure, figure};
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
    let heads = ["step", "condition", "rows/s", "queries/s", "s", "p99 ms", "longest ms", "server us/o", "missed"];
    let mut rows = Vec::new();
    let order = steps_in_order(summary.conditions.first()?);
    for step in &order {
        for condition in &summary.conditions {
            rows.push([plain(step), plain(&condition.name)].into_iter().chain(step_cells(condition, step)).collect());
        }
    }
    let head = "steps (means over trials; latencies of queries, or of writing statements where there are none)";
    (!order.is_empty()).then(|| titled(style, head, &lined(style, &heads, 2, rows)))
}

/// Every figure of a condition: its kind, the step or role it belongs to, and its mean.
fn step_figures(condition: &ConditionSummary) -> impl Iterator<Item = (Figure, &str, f64)> {
    condition.metrics.iter().filter_map(|metric| {
        let (figure, of) = figure(&metric.name)?;
        Some((figure, of, metric.mean))
    })
}

/// The steps, in the order in which they began.
fn steps_in_order(condition: &ConditionSummary) -> Vec<String> {
    let begins = step_figures(condition).filter(|(figure, ..)| *figure == Figure::BeginS);
    let mut begins: Vec<(&str, f64)> = begins.map(|(_, step, begin_s)| (step, begin_s)).collect();
    begins.sort_by(|a, b| a.1.total_cmp(&b.1));
    begins.into_iter().map(|(step, _)| step.to_owned()).collect()
}

fn step_cells(condition: &ConditionSummary, step: &str) -> [String; 7] {
    // The name of a role contains no _.
    let in_step = |wanted: Figure| {
        step_figures(condition).filter(move |(figure, of, _)| {
            *figure == wanted && (*of == step || of.rsplit_once('_').is_some_and(|(of, _)| of == step))
        })
    };
    let largest = |figure| in_step(figure).max_by(|a, b| a.2.total_cmp(&b.2));
    let (rows, queries) = (largest(Figure::RowsPerS), largest(Figure::QueriesPerS));
    let latency = |figure: &str| {
        let (_, part, _) = queries.or(rows)?;
        let name = format!("latency_ms_{figure}_of_{part}");
        condition.metrics.iter().find(|metric| metric.name == name).map(|metric| metric.mean)
    };
    let mean = |found: Option<(Figure, &str, f64)>| found.map(|(.., mean)| mean);
    let shown = |value: Option<f64>, digits: usize| value.map_or("-".to_owned(), |value| format!("{value:.digits$}"));
    [
        shown(mean(rows), 0),
        shown(mean(queries), 0),
        shown(mean(largest(Figure::ElapsedS)), 3),
        shown(latency("p99"), 3),
        shown(latency("max"), 3),
        shown(mean(largest(Figure::ServerCpuUs)), 1),
        mean(largest(Figure::MissedFraction)).map_or("-".to_owned(), |missed| format!("{:.1}%", 100.0 * missed)),
    ]
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
