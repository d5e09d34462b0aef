//! Tables of captures: growth rankings, builds compared, where threads spend time, and the cost of capturing.

use super::layout::{drawn, item, lined, titled, wrap};
use super::scaling::RATIO;
use super::style::{Style, plain};
use crate::figures::times;
use crate::tables;
use crate::words::{at, between, waits};
use tare_findings::captures::{CaptureSummary, Grown, GrowthRanking, Profiled};
use tare_findings::lines::LinesSummary;
use tare_findings::summary::Summary;
use tare_text::{ending, percent};

/// Names listed per ranking; the report has more.
const LISTED: usize = 8;
/// Maximum characters of a name: names of templates are longer than a line.
const NAME: usize = 48;
/// Smaller changes would be printed as 0.00%.
const LEAST: f64 = 0.000_05;

pub(super) fn growth(summary: &Summary, style: Style) -> Option<String> {
    // Call chains are only in the report: on a terminal they would repeat most of the functions.
    let shown: Vec<&GrowthRanking> =
        summary.growth.iter().filter(|ranking| matches!(ranking.what, Profiled::Locks | Profiled::Symbols)).collect();
    let parts: Vec<String> = shown.into_iter().map(|ranking| one(ranking, style)).collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

fn one(ranking: &GrowthRanking, style: Style) -> String {
    let (what, of) = match ranking.what {
        Profiled::Locks => ("locks", "the connections' time"),
        _ => ("functions", "the server's samples"),
    };
    // Always the first row; of the others only those that change.
    let moves = |(place, grown): &(usize, &Grown)| *place == 0 || grown.per_doubling.abs() >= LEAST;
    let shown = ranking.grown.iter().take(LISTED).enumerate().filter(moves);
    let mut table = tables::growth([what, "first", "last"], shown.map(|(_, grown)| grown));
    table.rows.iter_mut().filter_map(|row| row[0].0.as_mut()).for_each(|name| *name = ending(&plain(name), NAME));
    let at = plain(&at(&ranking.levels));
    let head = format!("{what} whose share of {of} grows over {}{at}, fastest first", ranking.over);
    titled(style, &head, &drawn(style, &table))
}

pub(super) fn builds(summary: &Summary, style: Style) -> Option<String> {
    let first = summary.builds.first()?;
    let head = format!(
        "{} of each build / {} ({RATIO}; intervals are for each alone; verdicts hold for all builds together)",
        first.metric,
        plain(&first.a)
    );
    Some(titled(style, &head, &drawn(style, &tables::builds(&summary.builds))))
}

pub(super) fn cost(summary: &Summary, style: Style) -> Option<String> {
    let measured = summary.captures.iter().filter_map(|capture| Some((capture, capture.tps_ratio?)));
    let rows: Vec<Vec<String>> = measured
        .map(|(of, ratio)| vec![plain(&of.condition), of.trials.to_string(), times(ratio), of.samples.to_string()])
        .collect();
    let heads = ["condition", "trials", "throughput while capturing / measured", "samples of the profile"];
    let head = "cost of capturing, in samples of its own: no metric above contains it";
    (!rows.is_empty()).then(|| titled(style, head, &lined(style, &heads, 1, rows)))
}

/// The functions in which the server spends CPU time, one line per condition with a profile.
pub(super) fn functions(captures: &[CaptureSummary], style: Style) -> Option<String> {
    let with = captures.iter().filter(|capture| !capture.symbols.is_empty());
    let lines: String = with
        .map(|capture| {
            let of = capture.symbols.iter().take(ROWS).filter(|symbol| symbol.self_fraction >= LEAST_SHARE);
            let named: Vec<String> =
                of.map(|one| format!("{} {}", ending(&one.symbol, NAME), percent(one.self_fraction))).collect();
            item(style, &format!("{}: {}", capture.condition, named.join(", ")))
        })
        .collect();
    (!lines.is_empty()).then(|| titled(style, "functions of the server, shares of its CPU time", &lines))
}

/// Maximum rows per condition, and the smallest share listed; the report has the rest.
const ROWS: usize = 6;
const LEAST_SHARE: f64 = 0.005;
const THREAD: usize = 30;

/// Where the server's threads spend time, one table for all conditions.
pub(super) fn thread_times(captures: &[CaptureSummary], style: Style) -> Option<String> {
    let mut rows = Vec::new();
    let mut cost = None;
    for capture in captures {
        let Some(found) = &capture.waits else { continue };
        for part in found.connections.parts.iter().take(ROWS).filter(|part| part.fraction >= LEAST_SHARE) {
            rows.push(vec![
                plain(&capture.condition),
                plain(&waits::what(part)),
                percent(part.fraction),
                between(part.ci, "-", percent),
                waits::per_transaction(part).unwrap_or_else(|| "-".to_owned()),
            ]);
        }
        cost = cost.or_else(|| Some(waits::cost(capture, found)));
    }
    let heads = ["condition", "what", "share", "95% interval", "per transaction"];
    let head = "what the server's threads that serve connections spend time on (per transaction: all threads)";
    let below = |cost: &str| lined(style, &heads, 2, rows) + &wrap(style, "  ", "  ", &plain(cost));
    cost.map(|cost| titled(style, head, &below(&cost)))
}

/// The threads that connection threads sleep for; `None` without the capture `wakes`.
pub(super) fn charged(captures: &[CaptureSummary], style: Style) -> Option<String> {
    let mut rows = Vec::new();
    let mut lines = String::new();
    for capture in captures {
        let Some(found) = &capture.wakes else { continue };
        for (who, doing, share) in found.charged.iter().take(ROWS).filter(|(.., share)| *share >= LEAST_SHARE) {
            rows.push(vec![
                plain(&capture.condition),
                ending(&plain(who), THREAD),
                waits::doing(*doing).to_owned(),
                percent(*share),
            ]);
        }
        lines.push_str(&item(style, &format!("{}: {}", capture.condition, waits::woken(found))));
    }
    let head = "what other threads did while the threads that serve connections slept, along the chain of wake-ups";
    let heads = ["condition", "who", "did", "share"];
    (!lines.is_empty()).then(|| titled(style, head, &(lined(style, &heads, 3, rows) + &lines)))
}

/// The callers of the functions in which these threads slept, one per line.
pub(super) fn callers(captures: &[CaptureSummary], style: Style) -> Option<String> {
    let line = |condition: &str, (chain, share): &(String, f64)| {
        item(style, &format!("{condition}: {} {}", percent(*share), waits::waking_callers(chain)))
    };
    let of = |capture: &CaptureSummary| -> String {
        let all = capture.callers().iter().take(ROWS);
        all.filter(|(_, share)| *share >= LEAST_SHARE).map(|one| line(&capture.condition, one)).collect()
    };
    let lines: String = captures.iter().map(of).collect();
    let head = "callers of the functions in which connection threads slept, the nearest first; shares of their time";
    (!lines.is_empty()).then(|| titled(style, head, &lines))
}

/// Cache lines that cores take from each other; `None` without the capture `lines`.
pub(super) fn lines(captures: &[CaptureSummary], style: Style) -> Option<String> {
    let with: Vec<(&str, &LinesSummary)> =
        captures.iter().filter_map(|capture| Some((capture.condition.as_str(), capture.lines.as_ref()?))).collect();
    lines_of(&with, "condition", style)
}

/// The same for conditions, or for the sides of a comparison, as sentences and a table.
pub(super) fn lines_of(with: &[(&str, &LinesSummary)], of: &str, style: Style) -> Option<String> {
    let mut table = tables::lines(
        of,
        with.iter().flat_map(|(name, found)| found.lines.iter().take(ROWS).map(|line| (*name, line))),
    );
    table.rows.iter_mut().flatten().filter_map(|cell| cell.0.as_mut()).for_each(|text| *text = plain(text));
    let message: String = with
        .iter()
        .map(|(name, found)| {
            let first = waits::first_line(found).map_or(String::new(), |first| format!(" {first}"));
            item(style, &format!("{name}: {}.{first}", waits::shared_lines(found)))
        })
        .collect();
    let head = "cache lines that cores take from each other";
    let table = if table.rows.is_empty() { String::new() } else { drawn(style, &table) };
    (!with.is_empty()).then(|| titled(style, head, &(message + &table)))
}
