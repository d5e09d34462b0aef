//! The steps of a load, in order, for all conditions.

use super::rows::{lined, titled};
use super::style::Style;
use super::text::plain;
use tare_findings::condition::ConditionSummary;
use tare_findings::summary::Summary;
use tare_results::steps::{Figure, figure};

/// One line per step and condition; `None` if no load has steps.
pub(super) fn steps(summary: &Summary, style: Style) -> Option<String> {
    let heads = ["step", "condition", "rows/s", "queries/s", "s", "p99 ms", "longest ms", "server us/o", "missed"];
    let mut rows = Vec::new();
    let order = order(summary.conditions.first()?);
    for step in &order {
        for condition in &summary.conditions {
            rows.push([plain(step), plain(&condition.name)].into_iter().chain(cells(condition, step)).collect());
        }
    }
    let head = "steps (means over trials; latencies of queries, or of writing statements where there are none)";
    (!order.is_empty()).then(|| titled(style, head, &lined(style, &heads, 2, rows)))
}

/// Every figure of a condition: its kind, the step or role it belongs to, and its mean.
fn figures(condition: &ConditionSummary) -> impl Iterator<Item = (Figure, &str, f64)> {
    condition.metrics.iter().filter_map(|metric| {
        let (figure, of) = figure(&metric.name)?;
        Some((figure, of, metric.mean))
    })
}

/// The steps, in the order in which they began.
fn order(condition: &ConditionSummary) -> Vec<String> {
    let begins = figures(condition).filter(|(figure, ..)| *figure == Figure::BeginS);
    let mut begins: Vec<(&str, f64)> = begins.map(|(_, step, begin_s)| (step, begin_s)).collect();
    begins.sort_by(|a, b| a.1.total_cmp(&b.1));
    begins.into_iter().map(|(step, _)| step.to_owned()).collect()
}

fn cells(condition: &ConditionSummary, step: &str) -> [String; 7] {
    // The name of a role contains no _.
    let in_step = |wanted: Figure| {
        figures(condition).filter(move |(figure, of, _)| {
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
