//! Sentences on the trials: drift, shared servers, left-out samples, outliers, and conditions with another load.

use super::terms::phrase;
use crate::figures::{chance, change, changes, figure};
use tare_findings::condition::{ConditionSummary, MetricSummary};
use tare_findings::left_out::Dropped;
use tare_findings::lifetimes::Lifetimes;
use tare_findings::residuals::{Drift, Outlier};
use tare_findings::summary::Summary;
use tare_findings::verdict::Verdict;
use tare_results::{covariate, metric};
use tare_text::{count, list, percent};

/// One sentence; `None` if no drift is shown.
pub(super) fn drift(found: &Drift, answer: &Verdict) -> Option<String> {
    let without_blocks = answer.tested().is_some_and(|tested| !tested.analysis.by_block);
    let within = match without_blocks {
        true => "Conditions were not compared within blocks, so the drift is part of every interval",
        false => "Conditions were compared block by block, which removes the drift",
    };
    let change = found.change.map_or(String::new(), |change| {
        let way = if change < 0.0 { "lower" } else { "higher" };
        format!("; the last third of the run is {} {way} than the first", percent(change.abs()))
    });
    found.shown().then(|| {
        format!(
            "The machine drifted: a trial resembles the one before it (correlation {:.2}, p {}){change}. {within}; \
             a comparison with another run cannot remove it.",
            found.correlation,
            chance(found.p_value)
        )
    })
}

/// What a reader of a ladder must know.
pub(super) fn lifetimes(found: &Lifetimes) -> String {
    let place = match found.ci {
        Some(ci) if found.shown => format!(
            "a rung is {} for each that was measured on its server before (95% interval {}), which the random order \
             spreads over all rungs",
            change(found.per_place),
            changes(ci)
        ),
        _ => "no effect of what was measured on a server before is shown".to_owned(),
    };
    format!(
        "Rungs shared servers, up to {} each: a restart moves all rungs of a lifetime together ({} of the variance \
         between trials of a rung, over {}), so it is part of every interval and of no step between rungs; {place}.",
        found.rungs,
        percent(found.restart_share),
        count(found.lifetimes, "lifetime")
    )
}

/// How far the left-out samples are from the others, on average over all trials.
pub(super) fn dropped(found: &Dropped) -> String {
    format!(
        "Left out, as the study requests: the first {} of each trial, whose {} was {} against the others.",
        if found.samples == 1 { "sample".to_owned() } else { count(found.samples, "sample") },
        phrase(&found.metric),
        change(found.change)
    )
}

/// Names the outlier, its log and the result without it.
pub(super) fn outlier(found: &Outlier) -> String {
    let unit = metric::describe(&found.metric).unit;
    let differing: Vec<String> = found
        .unusual
        .iter()
        .map(|(name, own, usual)| {
            let unit = covariate::Covariate::of(name).map_or("", |known| known.unit);
            format!("{name} {} against {}", figure(*own, unit), figure(*usual, unit))
        })
        .collect();
    let recorded = match differing.is_empty() {
        true => "no covariate recorded with it stands out".to_owned(),
        false => format!("alongside it {}", differing.join(", ")),
    };
    let interval = found
        .ci
        .map_or(String::new(), |ci| format!(" (95% interval {} to {})", figure(ci.low, unit), figure(ci.high, unit)));
    let log = found.log.as_ref().map_or(String::new(), |log| format!("; its log is {log}"));
    format!(
        "trial {} (attempt {}, {}) is an outlier: {} {}, {} from the others' mean; without it {}{interval}; \
         {recorded}{log}",
        found.trial,
        found.attempt,
        found.condition,
        found.metric,
        figure(found.value, unit),
        percent((found.value / found.mean_without - 1.0).abs()),
        figure(found.mean_without, unit),
    )
}

/// The result of conditions with another load: how far apart their trials are. The lowest may be the best.
pub(super) fn aside(summary: &Summary) -> Option<String> {
    let metric = summary.headline_metric.as_deref()?;
    let others: Vec<(&ConditionSummary, &MetricSummary)> = summary
        .conditions
        .iter()
        .filter(|condition| summary.own_threads(condition).is_some())
        .filter_map(|condition| Some((condition, condition.metrics.iter().find(|m| m.name == metric)?)))
        .collect();
    let words: Vec<String> = others
        .iter()
        .map(|(condition, found)| {
            let (low, high) = (figure(found.min, &found.unit), figure(found.max, &found.unit));
            let spread = found.between_cov.map_or(String::new(), |cov| format!(", CoV {}", percent(cov)));
            let range = if found.trials == 1 { format!("at {low}") } else { format!("from {low} to {high}") };
            format!("{} {range} ({}{spread})", condition.name, count(found.trials, "trial"))
        })
        .collect();
    (!words.is_empty())
        .then(|| format!("Conditions with another load, from the lowest trial to the highest: {}.", list(&words)))
}
