//! Sentences on retrograde scaling, and on the locks and functions whose share grows.

use crate::figures::times;
use tare_findings::captures::{GrowthRanking, Profiled};
use tare_findings::factors::words_of;
use tare_findings::scaling::{Scaling, Step};
use tare_findings::summary::Summary;
use tare_text::{count, percent};

/// Maximum sentences of one kind; the rest are counted.
const LISTED: usize = 3;

/// Retrograde steps of a metric, then the fastest growing lock and function.
pub(super) fn sentences(summary: &Summary, metric: &str) -> Vec<String> {
    let mut sentences: Vec<String> = retrograde(summary, metric).into_iter().collect();
    sentences.extend([Profiled::Locks, Profiled::Symbols].into_iter().filter_map(|what| growing(summary, what)));
    sentences
}

fn retrograde(summary: &Summary, metric: &str) -> Option<String> {
    let steps: Vec<(&Scaling, &Step)> = summary
        .scaling
        .iter()
        .filter(|law| law.metric == metric)
        .flat_map(|law| law.steps.iter().filter(|step| step.retrograde).map(move |step| (law, step)))
        .collect();
    let words = |(law, step): &(&Scaling, &Step)| {
        let at = if law.levels.is_empty() { String::new() } else { format!(" at {}", words_of(&law.levels)) };
        format!("{} -> {} {} gave {}{at}", step.from, step.to, law.over, times(step.ratio))
    };
    let listed: Vec<String> = steps.iter().take(LISTED).map(words).collect();
    let more = match steps.len().saturating_sub(LISTED) {
        0 => String::new(),
        n => format!("; and {} more", count(n, "step")),
    };
    (!steps.is_empty()).then(|| format!("Negative scaling: {}{more}.", listed.join("; ")))
}

/// The first of the ranking for which growth is shown; `None` if no growth is shown.
fn growing(summary: &Summary, what: Profiled) -> Option<String> {
    let shown = |ranking: &&GrowthRanking| ranking.grown.first().is_some_and(|first| first.shown);
    let rankings = summary.growth.iter().filter(|ranking| ranking.what == what).filter(shown);
    // With several ladders, the one with the fastest growth.
    let growth = |ranking: &&GrowthRanking| ranking.grown.first().map_or(0.0, |first| first.per_doubling);
    let ranking = rankings.max_by(|a, b| growth(a).total_cmp(&growth(b)))?;
    let first = ranking.grown.first()?;
    let at = if ranking.levels.is_empty() { String::new() } else { format!(" at {}", words_of(&ranking.levels)) };
    let (among, of) = match what {
        Profiled::Locks => ("locks", "of the connections' time"),
        Profiled::Symbols | Profiled::Calls => ("functions", "of the server's samples"),
    };
    Some(format!(
        "{} grows fastest of all {among} over {}{at}: from {} to {} {of}.",
        first.name,
        ranking.over,
        percent(first.first),
        percent(first.last)
    ))
}
