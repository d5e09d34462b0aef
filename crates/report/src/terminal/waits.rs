//! Where the server's threads spend time, one table for all conditions.

use super::style::{Style, add, finish};
use super::text::{heading, plain};
use crate::words::{between, waits};
use tare_findings::figures::percent;
use tare_findings::summary::Summary;

/// Parts of a condition, and the share below which a part is the report's alone.
const LISTED: usize = 6;
const LEAST: f64 = 0.005;

pub(super) fn times(summary: &Summary, style: Style) -> Option<String> {
    let mut rows = style.table(&["condition", "what", "share", "95% interval", "each transaction"], 2);
    let mut cost = None;
    for capture in &summary.captures {
        let Some(found) = &capture.waits else { continue };
        for part in found.connections.parts.iter().take(LISTED).filter(|part| part.fraction >= LEAST) {
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
