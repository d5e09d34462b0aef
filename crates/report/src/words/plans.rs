//! Sentences on queries that ran with more than one plan.

use super::terms::query;
use crate::figures::figure;
use tare_findings::plans::{PlanTrials, PlanUse, QueryPlans};
use tare_results::metric;
use tare_text::{count, list};

/// Maximum sentences about single queries; the page has the rest.
const LISTED: usize = 5;

/// A warning for each plan that changed between trials of one condition, as a cause of differences.
pub(super) fn changed(found: &[QueryPlans]) -> Vec<String> {
    let all = found.iter().flat_map(|query| query.changed_within.iter().map(move |condition| (query, condition)));
    let mut lines: Vec<String> =
        all.clone().take(LISTED).map(|(query, condition)| sentence(query, condition)).collect();
    let more = all.count().saturating_sub(LISTED);
    if more > 0 {
        lines.push(format!(
            "{} more of a query whose plan changed between trials; the HTML report lists all",
            count(more, "case")
        ));
    }
    lines
}

fn sentence(found: &QueryPlans, condition: &str) -> String {
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
pub(super) fn between(found: &[QueryPlans]) -> Option<String> {
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
        assert!(changed(&two).is_empty());
        assert!(between(&two).unwrap().contains("Q12 ran with different plans"));
        let jumpy = [found([("jumpy", 4, 0.1), ("jumpy", 2, 0.3)], &["jumpy"])];
        let message = changed(&jumpy).join(" ");
        assert!(
            message.starts_with("jumpy: the plan of Q12 changed between trials, which may contribute"),
            "{message}"
        );
        assert!(
            message.contains("in 4 trials (100 ms on average)") && message.contains("in 2 trials (300 ms"),
            "{message}"
        );
        assert!(message.contains("`lineitem | ref` where the other has `lineitem | range`"), "{message}");
        assert_eq!(between(&jumpy), None);
    }
}
