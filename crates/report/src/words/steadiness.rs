//! Sentences on the spread of results: its sources, covariates that are associated with the rest of it, and the probes
//! that may explain it (`sampling.probe`).

use crate::figures::chance;
use tare_findings::condition::{ConditionSummary, Spread};
use tare_findings::probes::{OfProbe, Weight};
use tare_findings::summary::Summary;
use tare_results::metric;
use tare_stats::worth::Advice;
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

/// The measurement: how much the metric varied, and how much of that remains with each probe.
pub fn measured_probes(found: &Weight) -> String {
    let what = match found.metrics {
        1 => found.metric.clone(),
        n => format!("the average of {} from {} on", count(n, "metric"), found.metric),
    };
    let probes: Vec<String> = found.probes.iter().map(of_probe).collect();
    format!(
        "{what} varied by {} (CoV of {} of one server); alongside it {}",
        percent(found.cov),
        count(found.repeats, "sample"),
        probes.join(", ")
    )
}

fn of_probe(found: &OfProbe) -> String {
    let ends = format!("{:.2} to {:.2}", found.left_ci_low, found.left_ci_high);
    format!("the probe {} leaves {:.2} of it ({ends})", found.probe, found.left)
}

/// What is said without a [`Weight`].
pub const NO_WEIGHT: &str =
    "cannot be decided: the samples do not vary, lack readings, or resemble each other too much";

/// The outcome of `sampling.probe = "auto"`, as a note of the plan.
pub fn chosen_probe(found: Option<&Weight>) -> String {
    let used = found.and_then(|found| found.probes.iter().find(|of| Some(of.probe) == found.probe));
    let why = match (used, found.map(|found| found.advice)) {
        (Some(used), _) => return format!("sampling.probe = \"auto\": {} and is used", of_probe(used)),
        (_, Some(Advice::DoesNotHelp)) => "each probe leaves more than 0.90 of the spread",
        (_, Some(_)) => "whether one helps here cannot be decided from so few samples",
        (_, None) => &format!("whether one helps here {NO_WEIGHT}"),
    };
    format!("sampling.probe = \"auto\": {why}, so no probe is used")
}

pub fn probe_advice(found: &Weight) -> String {
    match (found.advice, found.probe) {
        (Advice::Helps, Some(probe)) => {
            format!("A probe helps here: run the study with --set sampling.probe={probe}.")
        }
        (Advice::DoesNotHelp, _) => "No probe helps here: each probe leaves more than 0.90 of the spread.".to_owned(),
        (Advice::Helps | Advice::CannotTell, _) => {
            "Whether a probe helps here cannot be decided from so few samples: take more with --samples.".to_owned()
        }
    }
}
