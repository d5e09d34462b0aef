//! Sentences on queries: their warm-up, the server work left over from it, and queries that ran with more than one
//! plan.

use super::terms::query;
use crate::figures::{figure, times};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use tare_findings::collect::is_usable;
use tare_findings::plans::{PlanTrials, PlanUse, QueryPlans};
use tare_findings::warm_up::{WARM, WarmUp, WarmUpBy};
use tare_results::server::SettledRecord;
use tare_results::{Results, metric};
use tare_text::{count, decimal, list, percent};

/// Maximum conditions named.
const LISTED: usize = 3;

pub(super) fn warm_up(found: &[WarmUp]) -> Option<String> {
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
pub(super) fn warm_up_by_level(WarmUpBy { factor, levels: [long, short] }: &WarmUpBy) -> String {
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

/// Maximum sentences about single queries; the page has the rest.
const LISTED_PLANS: usize = 5;

/// A warning for each plan that changed between trials of one condition, as a cause of differences.
pub(super) fn changed_plans(found: &[QueryPlans]) -> Vec<String> {
    let all = found.iter().flat_map(|query| query.changed_within.iter().map(move |condition| (query, condition)));
    let mut lines: Vec<String> =
        all.clone().take(LISTED_PLANS).map(|(query, condition)| plans_of_query(query, condition)).collect();
    let more = all.count().saturating_sub(LISTED_PLANS);
    if more > 0 {
        lines.push(format!(
            "{} more of a query whose plan changed between trials; the HTML report lists all",
            count(more, "case")
        ));
    }
    lines
}

fn plans_of_query(found: &QueryPlans, condition: &str) -> String {
    let unit = metric::describe(&found.metric).unit;
    let uses: Vec<(&PlanUse, &PlanTrials)> =
        found.plans.iter().filter_map(|plan| Some((plan, plan.conditions.get(condition)?))).collect();
    let words: Vec<String> = uses
        .iter()
        .map(|(plan, of)| {
            format!("{} in {} ({} on average)", plan.name, count(of.trials.len(), "trial"), figure(of.mean, unit))
        })
        .collect();
    let difference = match uses.as_slice() {
        [(a, _), (b, _), ..] => differs(&a.text, &b.text),
        _ => String::new(),
    };
    format!(
        "{condition}: the plan of {} changed between trials, which may contribute to their differences: {}{difference}",
        query(&found.metric),
        list(&words)
    )
}

/// The first step in which two plans differ.
fn differs(a: &str, b: &str) -> String {
    let line = |text: &str, at: usize| text.lines().nth(at).map_or("nothing".to_owned(), |line| line.trim().to_owned());
    let longest = a.lines().count().max(b.lines().count());
    let first = (0..longest).find(|at| line(a, *at) != line(b, *at));
    first.map_or(String::new(), |at| format!("; the first has `{}` where the other has `{}`", line(a, at), line(b, at)))
}

/// Queries whose plan differs between conditions: comparing these conditions also compares plans.
pub(super) fn plans_between(found: &[QueryPlans]) -> Option<String> {
    let steady: Vec<String> =
        found.iter().filter(|query| query.changed_within.is_empty()).map(|found| query(&found.metric)).collect();
    (!steady.is_empty()).then(|| {
        format!(
            "{} ran with different plans under different conditions: the plans may contribute to the differences.",
            list(&steady)
        )
    })
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
        let message = warm_up(std::slice::from_ref(&steady)).unwrap();
        assert!(message.contains("6.2x as long as those (Q9 under a); all were warm after 2 executions"), "{message}");
        assert!(cold(std::slice::from_ref(&steady)).is_empty());
        let text = cold(&[steady, slow]).join(" ");
        assert!(text.contains("Q9") && text.contains("20% longer"), "{text}");
        assert_eq!(warm_up(&[]), None);
    }

    #[test]
    fn the_factor_that_decides_the_warm_up_is_reported_with_both_levels() {
        let by = WarmUpBy { factor: "ahi".into(), levels: [("ON".to_owned(), 7..=8), ("OFF".to_owned(), 0..=0)] };
        let expected = "With ahi=ON it took 7 to 8 executions until all queries were warm, with ahi=OFF 0.";
        assert_eq!(warm_up_by_level(&by), expected);
    }

    /// Q12 with two plans, each with the number of trials of one condition and their mean.
    fn found(uses: [(&str, usize, f64); 2], changed_within: &[&str]) -> QueryPlans {
        let texts = ["orders | ALL\nlineitem | ref", "orders | ALL\nlineitem | range"];
        let plan = |((condition, trials, mean), text): ((&str, usize, f64), &str)| PlanUse {
            name: text.len().to_string(),
            text: text.to_owned(),
            conditions: [(condition.to_owned(), PlanTrials { trials: (0..trials).collect(), mean })].into(),
        };
        QueryPlans {
            metric: "query_s_q12".to_owned(),
            plans: uses.into_iter().zip(texts).map(plan).collect(),
            changed_within: changed_within.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn a_plan_that_changed_between_trials_is_a_cause_and_one_between_conditions_is_reported() {
        let two = [found([("steady", 4, 0.1), ("other", 4, 0.2)], &[])];
        assert!(changed_plans(&two).is_empty());
        assert!(plans_between(&two).unwrap().contains("Q12 ran with different plans"));
        let jumpy = [found([("jumpy", 4, 0.1), ("jumpy", 2, 0.3)], &["jumpy"])];
        let message = changed_plans(&jumpy).join(" ");
        assert!(
            message.starts_with("jumpy: the plan of Q12 changed between trials, which may contribute"),
            "{message}"
        );
        assert!(
            message.contains("in 4 trials (100 ms on average)") && message.contains("in 2 trials (300 ms"),
            "{message}"
        );
        assert!(message.contains("`lineitem | ref` where the other has `lineitem | range`"), "{message}");
        assert_eq!(plans_between(&jumpy), None);
    }
}
