//! Sentences on the spread of results: its sources, and covariates that are associated with the rest of it.

use crate::figures::chance;
use tare_findings::condition::{ConditionSummary, Spread};
use tare_findings::summary::Summary;
use tare_results::metric;
use tare_text::{count, list, percent};

/// "Within conditions, client migrations go with 35% of the variance between trials (p 0.004)."
pub(super) fn residuals(summary: &Summary) -> Option<String> {
    let causes: Vec<String> = summary
        .residual_causes
        .iter()
        .map(|cause| format!("{} with {} of it (p {})", cause.covariate, percent(cause.share), chance(cause.p_value)))
        .collect();
    (!causes.is_empty()).then(|| {
        format!(
            "The remaining spread between successive trials correlates with recorded covariates: {}.",
            list(&causes)
        )
    })
}

/// "22 queries", if the metrics are queries.
pub(super) fn many(metrics: usize, one: &str) -> String {
    match metric::query(one).is_some() {
        true if metrics != 1 => format!("{metrics} queries"),
        true => "1 query".to_owned(),
        false => count(metrics, "metric"),
    }
}

/// The table of spreads in one sentence, if there are several queries.
pub(super) fn spread(summary: &Summary) -> Option<String> {
    let spreads: Vec<(&ConditionSummary, &Spread)> = summary
        .conditions
        .iter()
        .filter_map(|condition| Some((condition, condition.spread.as_ref().filter(|spread| spread.metrics > 1)?)))
        .collect();
    let steadiness = |a: &&(&ConditionSummary, &Spread), b: &&(&ConditionSummary, &Spread)| {
        a.1.range_average.total_cmp(&b.1.range_average)
    };
    let (best, worst) = (spreads.iter().min_by(steadiness)?, spreads.iter().max_by(steadiness)?);
    let words = |(condition, spread): &(&ConditionSummary, &Spread)| {
        format!(
            "{} ({} on average over {}, {} at most)",
            condition.name,
            percent(spread.range_average),
            many(spread.metrics, &spread.range_largest_metric),
            percent(spread.range_largest)
        )
    };
    match spreads.len() {
        1 => Some(format!("From the best to the worst trial: {}.", words(best))),
        _ => Some(format!(
            "From the best to the worst trial it is least in {} and most in {}; whether conditions differ in it is not \
             tested.",
            words(best),
            words(worst)
        )),
    }
}
