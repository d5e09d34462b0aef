//! What captures say: growth rankings, builds side by side, where threads spend time, and the cost of capturing.

use super::relative::RATIO;
use super::style::{Style, add, finish};
use super::text::{heading, plain, shorten, wrap};
use crate::words::{between, build_verdict, waits, wakes};
use tare_findings::figures::{change, percent, times};
use tare_findings::level_words::words_of;
use tare_findings::summary::{Grown, GrowthRanking, Profiled, Summary};

/// Names of a ranking on a terminal; the report has more.
const LISTED: usize = 8;
/// Letters of a name: those of templates are longer than a line.
const NAME: usize = 48;
/// A change that would show as 0.00%.
const LEAST: f64 = 0.000_05;

/// Locks and functions by the growth of their share.
pub(super) fn growth(summary: &Summary, style: Style) -> Option<String> {
    // Callers are the report's: on a terminal they would repeat most of the functions.
    let shown: Vec<&GrowthRanking> =
        summary.growth.iter().filter(|ranking| matches!(ranking.what, Profiled::Locks | Profiled::Symbols)).collect();
    let parts: Vec<String> = shown.into_iter().map(|ranking| one(ranking, style)).collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

fn one(ranking: &GrowthRanking, style: Style) -> String {
    let what = if ranking.what == Profiled::Locks { "locks" } else { "functions" };
    let mut rows = style.table(&[what, "first", "last", "each doubling", "95% interval"], 1);
    // The first in any case, and of the others those that change at all.
    let moves = |(place, grown): &(usize, &Grown)| *place == 0 || grown.per_doubling.abs() >= LEAST;
    for (_, grown) in ranking.grown.iter().take(LISTED).enumerate().filter(moves) {
        let cells = vec![
            shorten(&plain(&grown.name), NAME),
            percent(grown.first),
            percent(grown.last),
            change(grown.per_doubling),
            between(grown.ci, "-", change),
        ];
        add(&mut rows, 1, cells);
    }
    let of = if ranking.what == Profiled::Locks { "the connections' time" } else { "the server's samples" };
    let at =
        if ranking.levels.is_empty() { String::new() } else { format!(" at {}", plain(&words_of(&ranking.levels))) };
    let head = format!("{what} whose share of {of} grows over {}{at}, fastest first", ranking.over);
    format!("{}\n{}", heading(style, &head), finish(rows))
}

pub(super) fn builds(summary: &Summary, style: Style) -> Option<String> {
    let first = summary.builds.first()?;
    let mut rows = style.table(&["at", "build", "ratio", "95% interval", "verdict"], 2);
    for found in &summary.builds {
        let verdict = build_verdict(found.verdict);
        let interval = between(found.ci, "-", times);
        add(
            &mut rows,
            2,
            vec![plain(&words_of(&found.levels)), plain(&found.b), times(found.ratio), interval, verdict.to_owned()],
        );
    }
    let head = format!(
        "{} of each build / {} ({RATIO}; each interval for itself; verdicts hold for all builds together)",
        first.metric,
        plain(&first.a)
    );
    Some(format!("{}\n{}", heading(style, &head), finish(rows)))
}

pub(super) fn cost(summary: &Summary, style: Style) -> Option<String> {
    let mut rows =
        style.table(&["condition", "trials", "throughput while capturing / measured", "samples of the profile"], 1);
    let measured: Vec<_> = summary.captures.iter().filter(|c| c.tps_ratio.is_some()).collect();
    for capture in &measured {
        let ratio = capture.tps_ratio.map_or(String::new(), times);
        add(
            &mut rows,
            1,
            vec![plain(&capture.condition), capture.trials.to_string(), ratio, capture.samples.to_string()],
        );
    }
    let head = heading(style, "cost of capturing, in samples of its own: no metric above contains it");
    (!measured.is_empty()).then(|| format!("{head}\n{}", finish(rows)))
}

/// Rows of a condition, and the share below which one is the report's alone.
const ROWS: usize = 6;
const LEAST_SHARE: f64 = 0.005;
const THREAD: usize = 30;

/// Where the server's threads spend time, one table for all conditions.
pub(super) fn thread_times(summary: &Summary, style: Style) -> Option<String> {
    let mut rows = style.table(&["condition", "what", "share", "95% interval", "each transaction"], 2);
    let mut cost = None;
    for capture in &summary.captures {
        let Some(found) = &capture.waits else { continue };
        for part in found.connections.parts.iter().take(ROWS).filter(|part| part.fraction >= LEAST_SHARE) {
            let cells = vec![
                plain(&capture.condition),
                plain(&waits::what(part)),
                percent(part.fraction),
                between(part.ci, "-", percent),
                waits::per_transaction(part).unwrap_or_else(|| "-".to_owned()),
            ];
            add(&mut rows, 2, cells);
        }
        cost = cost.or_else(|| Some(waits::cost(capture, found)));
    }
    let head = heading(
        style,
        "what the server's threads that serve connections spend time with (each transaction: all threads)",
    );
    cost.map(|cost| format!("{head}\n{}  {}\n", finish(rows), plain(&cost)))
}

/// Who keeps the threads that serve connections asleep; none without the capture `wakes`.
pub(super) fn charged(summary: &Summary, style: Style) -> Option<String> {
    let mut rows = style.table(&["condition", "who", "did", "share"], 3);
    let mut lines = String::new();
    for capture in &summary.captures {
        let Some(found) = &capture.wakes else { continue };
        for (who, doing, share) in found.charged.iter().take(ROWS).filter(|(.., share)| *share >= LEAST_SHARE) {
            let cells = vec![
                plain(&capture.condition),
                shorten(&plain(who), THREAD),
                wakes::doing(*doing).to_owned(),
                percent(*share),
            ];
            add(&mut rows, 3, cells);
        }
        lines.push_str(&wrap(style, "  ", "    ", &plain(&format!("{}: {}", capture.condition, wakes::about(found)))));
    }
    let head = heading(
        style,
        "what others did while the threads that serve connections slept for them, passed on along who woke whom",
    );
    (!lines.is_empty()).then(|| format!("{head}\n{}{lines}", finish(rows)))
}
