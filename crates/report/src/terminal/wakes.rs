//! Who keeps the threads that serve connections asleep, one table for all conditions.

use super::style::{Style, add, finish};
use super::text::{heading, plain, shorten, wrap};
use crate::words::wakes;
use tare_findings::figures::percent;
use tare_findings::summary::Summary;

/// Rows of a condition, and the share below which one is the report's alone.
const LISTED: usize = 6;
const LEAST: f64 = 0.005;
/// Letters of a thread's name.
const NAME: usize = 30;

/// By condition; none without the capture `wakes`.
pub(super) fn charged(summary: &Summary, style: Style) -> Option<String> {
    let mut rows = style.table(&["condition", "who", "did", "share"], 3);
    let mut lines = String::new();
    for capture in &summary.captures {
        let Some(found) = &capture.wakes else { continue };
        for (who, doing, share) in found.charged.iter().take(LISTED).filter(|(.., share)| *share >= LEAST) {
            let cells = vec![
                plain(&capture.condition),
                shorten(&plain(who), NAME),
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
