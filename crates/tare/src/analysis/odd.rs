//! What a reader must know before believing a figure, most serious first.

use super::figures::{count, percent};
use super::summary::Summary;
use super::{first_screen, reading};
use std::collections::BTreeMap;
use tare_results::Results;
use tare_results::schema::{Outcome, TrialRecord};

/// Reasons listed one by one; the rest are counted.
const LISTED: usize = 5;

/// Odd things, one sentence each.
pub fn list(summary: &Summary, results: &Results) -> Vec<String> {
    let mut odd = results.warnings.clone();
    odd.extend(bad_trials(results, Outcome::Failed, "failed"));
    odd.extend(bad_trials(results, Outcome::Contaminated, "was contaminated and is not analysed"));
    odd.extend(disturbed_trials(results));
    odd.extend(first_screen::missing_words(results));
    odd.extend(
        summary
            .unrealizable
            .iter()
            .map(|condition| format!("{} cannot be done on this machine: {}", condition.name, condition.reason)),
    );
    odd.extend(modes(summary));
    odd.extend(single_trials(summary));
    odd.extend(versions(results));
    odd.extend(missing_captures(results));
    odd
}

fn bad_trials(results: &Results, outcome: Outcome, what: &str) -> Vec<String> {
    let bad: Vec<&TrialRecord> = results.trials.iter().filter(|trial| trial.outcome == outcome).collect();
    let mut lines: Vec<String> = bad
        .iter()
        .take(LISTED)
        .map(|trial| {
            let again = results.trials.iter().any(|other| {
                other.trial == trial.trial && other.condition == trial.condition && other.outcome == Outcome::Ok
            });
            let again = if again { "; it was run again and then ended ok" } else { "" };
            let reason = trial.reason.as_deref().unwrap_or("no reason was recorded");
            format!("trial {} (attempt {}, {}) {what}: {reason}{again}", trial.trial, trial.attempt, trial.condition)
        })
        .collect();
    if bad.len() > LISTED {
        let words = if outcome == Outcome::Failed { "failed" } else { "were contaminated" };
        lines.push(format!("{} more {words}; trials.jsonl has them all", count(bad.len() - LISTED, "attempt")));
    }
    lines
}

/// Trials that are analysed and have a reason all the same: no attempt was left.
fn disturbed_trials(results: &Results) -> Option<String> {
    let disturbed: Vec<&TrialRecord> =
        results.trials.iter().filter(|trial| trial.outcome == Outcome::Ok && trial.reason.is_some()).collect();
    let first = disturbed.first()?;
    let reason = first.reason.as_deref().unwrap_or_default();
    let all = results.trials.iter().filter(|trial| trial.outcome == Outcome::Ok).count();
    let words = if disturbed.len() == 1 { "trial is" } else { "trials are" };
    Some(format!(
        "{} of {all} analysed {words} disturbed, like trial {} ({}): {reason}",
        disturbed.len(),
        first.trial,
        first.condition
    ))
}

fn modes(summary: &Summary) -> Vec<String> {
    let Some(name) = &summary.headline_metric else { return Vec::new() };
    summary
        .conditions
        .iter()
        .filter_map(|condition| Some((condition, condition.metrics.iter().find(|metric| metric.name == *name)?)))
        .filter(|(_, metric)| !metric.modes.is_empty())
        .enumerate()
        .map(|(index, (condition, metric))| {
            let modes = reading::modes(metric);
            // The reading names the cause of the first one.
            if index == 0 {
                return format!("{}: {name} has two modes, {modes}", condition.name);
            }
            let cause = metric
                .mode_cause
                .as_ref()
                .map_or_else(|| "no recorded covariate explains which trial falls where".to_owned(), Clone::clone);
            format!("{}: {name} has two modes, {modes}; {cause}", condition.name)
        })
        .collect()
}

fn single_trials(summary: &Summary) -> Option<String> {
    let single = summary.conditions.iter().filter(|condition| condition.trials == 1).count();
    let none = summary.conditions.iter().filter(|condition| condition.trials == 0).count();
    let mut parts = Vec::new();
    if none > 0 {
        parts.push(format!(
            "{} no usable trial",
            if none == 1 { "1 condition has".into() } else { format!("{none} conditions have") }
        ));
    }
    if single > 0 {
        let have = if single == 1 { "1 condition has".into() } else { format!("{single} conditions have") };
        parts.push(format!("{have} a single trial and so no interval"));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// What was to be captured and could not be, with its reason: one line for each reason.
fn missing_captures(results: &Results) -> Vec<String> {
    let mut missing: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (name, reason) in results.trials.iter().flat_map(|trial| &trial.captures_missing) {
        *missing.entry((name, reason)).or_default() += 1;
    }
    let line = |((name, reason), trials): ((&str, &str), usize)| {
        format!("{name} was not captured in {}: {reason}", count(trials, "trial"))
    };
    missing.into_iter().map(line).collect()
}

/// More than one server version in one set of results compares apples with pears unless a build is a factor.
fn versions(results: &Results) -> Option<String> {
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    for version in results.trials.iter().filter_map(|trial| trial.server_version.as_deref()) {
        *versions.entry(version).or_default() += 1;
    }
    let total: usize = versions.values().sum();
    (versions.len() > 1).then(|| {
        let words: Vec<String> = versions
            .iter()
            .map(|(version, n)| format!("{version} ({} of trials)", percent(*n as f64 / total as f64)))
            .collect();
        format!("the server reported more than one version: {}", words.join(", "))
    })
}
