//! Sentences on the warm-up of queries, and on server work left over from a warm-up.

use super::terms::query;
use crate::figures::times;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use tare_findings::collect::is_usable;
use tare_findings::warm_up::{WARM, WarmUp, WarmUpBy};
use tare_results::Results;
use tare_results::server::SettledRecord;
use tare_text::{count, decimal, percent};

/// Maximum conditions named.
const LISTED: usize = 3;

pub(super) fn sentence(found: &[WarmUp]) -> Option<String> {
    let first = |warm: &&WarmUp| warm.ratios.first().copied().unwrap_or(1.0);
    let worst = found.iter().max_by(|a, b| first(a).total_cmp(&first(b)))?;
    let latest = found.iter().filter_map(|warm| warm.warm_from).max();
    let cold = found.iter().filter(|warm| warm.warm_from.is_none()).count();
    let then = match (latest, cold) {
        (Some(0), 0) => "all were warm from the first one on".to_owned(),
        (Some(run), 0) => format!("all were warm after {}", count(run, "execution")),
        (Some(run), cold) => {
            format!("{cold} of {} were never warm, the others after at most {}", found.len(), count(run, "execution"))
        }
        (None, _) => "none was ever warm".to_owned(),
    };
    Some(format!(
        "Before the measured executions the first took up to {} as long as those ({} under {}); {then} (none later \
         is shown to take over {} longer).",
        times(first(&worst)),
        query(&worst.metric),
        worst.condition,
        percent(WARM)
    ))
}

/// The factor on which the warm-up depends: "With ahi=ON it took 7 to 8 executions until all queries were warm, with
/// ahi=OFF 0 to 1."
pub(super) fn by_level(WarmUpBy { factor, levels: [long, short] }: &WarmUpBy) -> String {
    let runs = |runs: &RangeInclusive<usize>| match runs.start() == runs.end() {
        true => runs.end().to_string(),
        false => format!("{} to {}", runs.start(), runs.end()),
    };
    let executions = if *long.1.end() == 1 { "execution" } else { "executions" };
    format!(
        "With {factor}={} it took {} {executions} until all queries were warm, with {factor}={} {}.",
        long.0,
        runs(&long.1),
        short.0,
        runs(&short.1)
    )
}

/// Queries that were still getting faster when measuring began.
pub(super) fn cold(found: &[WarmUp]) -> Vec<String> {
    let cold: Vec<&WarmUp> = found.iter().filter(|warm| warm.warm_from.is_none()).collect();
    let last = |warm: &WarmUp| warm.ratios.last().map_or(0.0, |ratio| ratio - 1.0);
    let mut lines: Vec<String> = cold
        .iter()
        .take(LISTED)
        .map(|warm| {
            format!(
                "{}: the last execution of {} before the measured ones took {} longer than those: it was not warm; \
                 increase warmup_runs, or set preload = \"on\"",
                warm.condition,
                query(&warm.metric),
                percent(last(warm))
            )
        })
        .collect();
    if cold.len() > LISTED {
        lines.push(format!("{} more of a query that was not warm", count(cold.len() - LISTED, "case")));
    }
    lines
}

/// Trials that were measured although their server still had work left over from the warm-up, one line per condition.
pub(super) fn unsettled(results: &Results) -> Vec<String> {
    let mut all: BTreeMap<&str, Vec<&SettledRecord>> = BTreeMap::new();
    for trial in results.trials.iter().filter(|trial| is_usable(trial)) {
        if let Some(settled) = trial.settled.as_ref().filter(|settled| !settled.settled) {
            all.entry(&trial.condition).or_default().push(settled);
        }
    }
    let line = |(condition, trials): (&str, Vec<&SettledRecord>)| {
        let waited_s = trials.iter().map(|settled| settled.waited_s).fold(0.0, f64::max);
        let left: Vec<String> = trials
            .iter()
            .take(1)
            .flat_map(|first| &first.left)
            .map(|(what, amount)| format!("{what} {amount}"))
            .collect();
        format!(
            "{condition}: the server had not settled {} s after the warm-up in {} ({}), so the samples \
             include work of the warm-up; a longer workload.settle_s waits for it",
            decimal(waited_s, 0),
            count(trials.len(), "trial"),
            left.join(", ")
        )
    };
    all.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warm(ratios: &[f64]) -> WarmUp {
        let cold = ratios.iter().rposition(|ratio| *ratio > 1.0 + WARM);
        let warm_from = cold.map_or(Some(0), |last| (last + 1 < ratios.len()).then_some(last + 1));
        WarmUp {
            condition: "a".into(),
            metric: "query_s_q9".into(),
            ratios: ratios.to_vec(),
            shown: Vec::new(),
            warm_from,
        }
    }

    #[test]
    fn a_query_that_is_still_getting_faster_causes_a_warning() {
        let (steady, slow) = (warm(&[6.2, 1.3, 1.01, 0.99]), warm(&[2.0, 1.5, 1.2]));
        assert_eq!((steady.warm_from, slow.warm_from), (Some(2), None));
        let message = sentence(std::slice::from_ref(&steady)).unwrap();
        assert!(message.contains("6.2x as long as those (Q9 under a); all were warm after 2 executions"), "{message}");
        assert!(cold(std::slice::from_ref(&steady)).is_empty());
        let text = cold(&[steady, slow]).join(" ");
        assert!(text.contains("Q9") && text.contains("20% longer"), "{text}");
        assert_eq!(sentence(&[]), None);
    }

    #[test]
    fn the_factor_that_decides_the_warm_up_is_reported_with_both_levels() {
        let by = WarmUpBy { factor: "ahi".into(), levels: [("ON".to_owned(), 7..=8), ("OFF".to_owned(), 0..=0)] };
        let expected = "With ahi=ON it took 7 to 8 executions until all queries were warm, with ahi=OFF 0.";
        assert_eq!(by_level(&by), expected);
    }
}
