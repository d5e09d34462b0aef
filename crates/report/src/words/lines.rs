//! Sentences on cache lines that cores take from each other.

use tare_findings::lines::{LineSummary, LineUse, LinesSummary};
use tare_results::cache_lines::Sharing;
use tare_text::{list, percent};

/// How often any line was found in another core's cache.
pub(crate) fn about(found: &LinesSummary) -> String {
    let counts = found.counts;
    let cut = if found.cut { "; only the beginning of a sample was read" } else { "" };
    let share = percent(counts.found() as f64 / counts.loads.max(1) as f64);
    format!(
        "{} of {} sampled loads ({share}) found their line in another core's cache, {} of them on another node{cut}",
        counts.found(),
        counts.loads,
        counts.found_remote
    )
}

/// The first line in one sentence; `None` if no line was found in another cache.
pub(crate) fn first(found: &LinesSummary) -> Option<String> {
    let line = found.lines.first()?;
    let by = |what: &str, uses: &[LineUse]| {
        let first = uses.first()?;
        Some(format!("{what} by {} on node {}", first.function, first.node))
    };
    let parts = [by("written", &line.written_by), by("read", &line.read_by)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let who = if parts.is_empty() { String::new() } else { format!(" is {}", list(&parts)) };
    Some(format!(
        "Line {}{who}: {} of {} sampled loads found it in another core's cache; {}.",
        line.name,
        line.counts.found(),
        line.counts.loads,
        sharing(line)
    ))
}

pub(crate) fn sharing(line: &LineSummary) -> &'static str {
    match line.sharing {
        Sharing::SameWord => "threads share the same bytes of it",
        Sharing::OtherWords => "threads use different parts of it (false sharing)",
        Sharing::Unknown => "no write by another thread was sampled",
    }
}

/// The functions that use a line, with the byte of the line and the node.
pub(crate) fn uses(uses: &[LineUse]) -> String {
    let one = |use_: &LineUse| format!("{} (byte {}, node {})", use_.function, use_.offset, use_.node);
    uses.iter().map(one).collect::<Vec<String>>().join(", ")
}
