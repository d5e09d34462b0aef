//! Phrases that several sentences and tables share.

use super::steadiness::many;
use crate::figures::{change, changes_of, figure, times_between};
use tare_findings::mode::{InCommon, Mode, ModeCause, ModeSide, Shared};
use tare_findings::places::{FULLEST_NODE, PAIRS};
use tare_findings::verdict::Measured;
use tare_results::metric::Better;
pub(super) use tare_results::metric::short as query;
use tare_stats::Interval;
use tare_text::{decimal, list, percent};

/// Both limits of an interval, `0.98x to 1.03x`, or `none`.
pub(crate) fn between(ci: Option<Interval>, none: &str, end: impl Fn(f64) -> String) -> String {
    ci.map_or_else(|| none.to_owned(), |ci| format!("{} to {}", end(ci.low), end(ci.high)))
}

pub(super) fn interval_of_ratio(ci: Interval) -> String {
    format!("95% interval {}", times_between(ci))
}

/// A ratio near 1 as a change in percent, `-2.9%`; `None` if two digits of a ratio are enough.
pub(super) fn small_change(ratio: f64) -> Option<String> {
    (0.92..1.09).contains(&ratio).then(|| change(ratio - 1.0))
}

pub(super) fn interval_of_change(ci: Interval) -> String {
    format!("95% interval {}", changes_of(ci))
}

/// "throughput", or "the 22 queries on average".
pub(super) fn measured(what: &Measured) -> String {
    match what.metrics {
        1 => phrase(&what.metric),
        metrics => format!("the {} on average", many(metrics, &what.metric)),
    }
}

pub(crate) fn phrase(metric: &str) -> String {
    match metric {
        "tps" => "throughput".to_owned(),
        other => other.to_owned(),
    }
}

/// `24.4 k/s in 60% of trials and 37.2 k/s in 40%`.
pub(crate) fn modes(modes: &[Mode], unit: &str) -> String {
    let words: Vec<String> = modes
        .iter()
        .enumerate()
        .map(|(index, mode)| {
            let of = if index == 0 { " of trials" } else { "" };
            format!("{} in {}{of}", figure(mode.mean, unit), percent(mode.weight))
        })
        .collect();
    list(&words)
}

/// The short name of a condition by index: A, B ... Z, AA ... ZZ, AAA ...
pub(crate) fn letter(index: usize) -> String {
    let last = char::from(b'A' + (index % 26) as u8);
    match (index / 26).checked_sub(1) {
        Some(before) => format!("{}{last}", letter(before)),
        None => last.to_string(),
    }
}

pub(crate) fn best_first(several_loads: bool) -> &'static str {
    if several_loads { "best first of each number of threads" } else { "best first" }
}

pub(crate) fn better_word(better: Better) -> &'static str {
    match better {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better",
    }
}

/// Which covariate explains the modes: "pairs same-pu at 66.0 k/s, pairs other-node at 13.0 k/s".
pub(crate) fn mode_cause(cause: &ModeCause, unit: &str) -> String {
    let name = &cause.covariate;
    let side = |side: &ModeSide| {
        let what = match &side.in_common {
            InCommon::Number(share) if name == FULLEST_NODE => format!("{} of threads on one node", percent(*share)),
            InCommon::Number(mean) => format!("{name} {} on average", decimal(*mean, 3)),
            InCommon::Pairs { relation, share } => pairs(*relation, *share),
            InCommon::Unknown => format!("{name} unknown"),
            InCommon::Word { word, trials, of } => {
                let share = if trials == of { String::new() } else { format!(" in {trials} of {of} trials") };
                if name == PAIRS { format!("{word}{share}") } else { format!("{name} {word}{share}") }
            }
        };
        format!("{what} at {}", figure(side.mean, unit))
    };
    cause.sides.iter().map(side).collect::<Vec<_>>().join(", ")
}

/// A share of pairs: "every pair on one PU", "40% of pairs on one node".
fn pairs(relation: Shared, share: f64) -> String {
    let place = match relation {
        Shared::Pu => "on one PU",
        Shared::Core => "on one core",
        Shared::Cache => "under one cache",
        Shared::Node => "on one node",
    };
    match share {
        share if share >= 1.0 - 1e-9 => format!("every pair {place}"),
        share if share <= 1e-9 => format!("no pair {place}"),
        share => format!("{} of pairs {place}", percent(share)),
    }
}
