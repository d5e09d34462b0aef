//! Warnings that a reader must know before trusting a figure, the most serious first.

use super::terms::{self, mode_cause, not_realizable};
use super::trials::{self, failure};
use super::{queries, searches, waits};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tare_findings::collect::{self, is_usable};
use tare_findings::state::{self, State};
use tare_findings::summary::Summary;
use tare_results::metric::TPS;
use tare_results::pairs::{Stop, clients_differ};
use tare_results::schema::{Outcome, Plan, TrialRecord};
use tare_results::store::STUDY;
use tare_results::{Results, steps};
use tare_text::{count, list, percent, was};

/// Maximum reasons listed; the rest are counted.
const LISTED: usize = 5;

/// Warnings, one sentence each; many disturbed attempts are summarised by program.
pub fn warnings(summary: &Summary, results: &Results) -> Vec<String> {
    all(summary, results, trials::disturbed_in_short(results).unwrap_or_else(|| disturbed(results)))
}

/// The same, with disturbed attempts listed individually, up to the maximum.
pub fn warnings_in_full(summary: &Summary, results: &Results) -> Vec<String> {
    all(summary, results, disturbed(results))
}

fn disturbed(results: &Results) -> Vec<String> {
    bad_trials(results, Bad::SetAside).into_iter().chain(disturbed_trials(results)).collect()
}

fn all(summary: &Summary, results: &Results, disturbed: Vec<String>) -> Vec<String> {
    let mut warnings: Vec<String> = results.damaged.iter().map(ToString::to_string).collect();
    warnings.extend(results.warnings.iter().cloned());
    warnings.extend(bad_trials(results, Bad::Failed));
    warnings.extend(disturbed);
    warnings.extend(trials::client_limit_notes(results));
    warnings.extend(counted_errors(results));
    warnings.extend(missing_words(summary, results));
    let cannot = results.plan.as_ref().map_or(Vec::new(), not_realizable);
    warnings.extend(cannot.into_iter().map(|(which, why)| format!("{which} is left out: {why}")));
    warnings.extend(modes(summary));
    warnings.extend(summary.outliers.iter().take(LISTED).map(trials::outlier));
    warnings.extend(searches::notes(&summary.searches));
    warnings.extend(queries::changed_plans(&summary.plans));
    warnings.extend(queries::cold(&summary.warm_up));
    warnings.extend(queries::unsettled(results));
    warnings.extend(single_trials(summary));
    warnings.extend(exchanged(results));
    warnings.extend(missing_captures(results));
    warnings.extend(waits::unnamed(summary));
    warnings.extend(outliving(results));
    warnings
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bad {
    Failed,
    /// Disturbed, and repeated by another attempt.
    SetAside,
}

fn bad_trials(results: &Results, kind: Bad) -> Vec<String> {
    let why = |trial: &TrialRecord| match state::of(trial) {
        State::Failed(why) => (kind == Bad::Failed).then(|| failure(&why)),
        State::Disturbed(why) => (kind == Bad::SetAside && trial.outcome == Outcome::Disturbed).then_some(why),
        State::Clean => None,
    };
    let bad: Vec<(&TrialRecord, String)> =
        results.trials.iter().filter_map(|trial| Some((trial, why(trial)?))).collect();
    let words = if kind == Bad::Failed { "failed" } else { "was disturbed and set aside" };
    let mut lines: Vec<String> = bad
        .iter()
        .take(LISTED)
        .map(|(trial, reason)| {
            let again = results
                .trials
                .iter()
                .find(|other| other.trial == trial.trial && other.condition == trial.condition && is_usable(other));
            let again = match again.map(state::of) {
                Some(State::Clean) => "; it was run again, clean",
                Some(_) => "; it was run again and disturbed again",
                None => "",
            };
            format!("trial {} (attempt {}, {}) {words}: {reason}{again}", trial.trial, trial.attempt, trial.condition)
        })
        .collect();
    if bad.len() > LISTED {
        let more = bad.len() - LISTED;
        let words = match kind {
            Bad::Failed => "failed".to_owned(),
            Bad::SetAside => format!("{} disturbed and set aside", was(more)),
        };
        lines.push(format!("{} {words}; trials.jsonl lists all", count(more, "more attempt")));
    }
    lines
}

/// Trials of which no attempt was clean.
fn disturbed_trials(results: &Results) -> Option<String> {
    let usable: Vec<&TrialRecord> = results.trials.iter().filter(|trial| is_usable(trial)).collect();
    let disturbed: Vec<&&TrialRecord> =
        usable.iter().filter(|trial| matches!(state::of(trial), State::Disturbed(_))).collect();
    let first = disturbed.first()?;
    let reason = first.reason.as_deref().unwrap_or_default();
    let all = usable.len();
    Some(format!(
        "{} of {} {} disturbed in every attempt, like trial {} ({}): {reason}",
        disturbed.len(),
        count(all, "trial"),
        was(disturbed.len()),
        first.trial,
        first.condition
    ))
}

/// The largest share of transactions in a condition that ended in an error and were not run again: of the user's own
/// statements.
fn counted_errors(results: &Results) -> Option<String> {
    // Of a condition: transactions done, and errors by class.
    let mut conditions: BTreeMap<&str, (f64, BTreeMap<&str, f64>)> = BTreeMap::new();
    for trial in results.trials.iter().filter(|trial| is_usable(trial)) {
        let (done, errors) = conditions.entry(&trial.condition).or_default();
        for sample in &trial.samples {
            *done += sample.metrics.get(TPS.name()).map_or(0.0, |tps| tps * sample.elapsed_s);
            for (name, count) in &sample.covariates {
                let Some(class) = steps::ended_a_transaction(name) else { continue };
                *errors.entry(class).or_default() += count;
            }
        }
    }
    let share = |(done, errors): &(f64, BTreeMap<&str, f64>)| {
        let failed: f64 = errors.values().sum();
        (*done > 0.0 && failed > 0.0).then(|| failed / (done + failed))
    };
    let shares = conditions.iter().filter_map(|(name, counted)| Some((name, share(counted)?, &counted.1)));
    let (condition, share, errors) = shares.max_by(|(_, a, _), (_, b, _)| a.total_cmp(b))?;
    let classes: Vec<&str> = errors.keys().copied().take(LISTED).collect();
    Some(format!(
        "transactions ended in an error and were not run again, most in {condition}: {} ({}); throughput is without \
         them, and the latency of the next transaction includes their time",
        percent(share),
        classes.join(", ")
    ))
}

/// Trials of a comparison or a race are not made again: others are added until it ends.
fn of_rounds(summary: &Summary, results: &Results, path: &str) -> String {
    let aside = "their pairs are left out";
    let Some(plan) = &results.plan else { return aside.to_owned() };
    let ended = summary.pairs.as_ref().and_then(|ab| ab.stop).is_some_and(|why| why != Stop::Session);
    let bisected = results.path.parent().and_then(Path::parent).filter(|above| above.join("bisect.json").exists());
    match (bisected, plan.settle.as_ref().is_some_and(|rule| rule.certify)) {
        _ if ended => aside.to_owned(),
        (Some(above), _) => {
            format!("`tare bisect --resume {}` continues", tare_text::quoted(&above.display().to_string()))
        }
        (None, true) => "measure more with: tare ab --certify".to_owned(),
        (None, false) => format!("`tare {} --resume {path}` continues", plan.resumed_by()),
    }
}

/// Planned trials without a usable record yet.
fn missing_words(summary: &Summary, results: &Results) -> Option<String> {
    let missing = collect::missing_trials(results);
    let of = results.plan.as_ref().map_or(0, |plan| plan.trials.len());
    let path = tare_text::quoted(&results.path.display().to_string());
    let advice = match results.open_shards.as_slice() {
        _ if results.plan.as_ref().is_some_and(Plan::goes_in_rounds) => of_rounds(summary, results, &path),
        _ if collect::is_out_of_attempts(results) => {
            let study = tare_text::quoted(&results.path.join(STUDY).display().to_string());
            format!("no attempt is left; for more, raise `attempts` in {study}, then: tare run --resume {path}")
        }
        [] => format!("`tare run --resume {path}` completes them"),
        [one] => format!("`tare run --shard {path} {one}` completes them"),
        [first, rest @ ..] => {
            let rest: Vec<String> = rest.iter().map(usize::to_string).collect();
            format!("`tare run --shard {path} {first}`, and the same with {}, completes them", list(&rest))
        }
    };
    let have = if missing == 1 { "has" } else { "have" };
    (missing > 0).then(|| format!("{missing} of {of} planned trials {have} no usable result: {advice}"))
}

fn modes(summary: &Summary) -> Vec<String> {
    let Some(name) = &summary.headline_metric else { return Vec::new() };
    summary
        .conditions
        .iter()
        .filter_map(|condition| Some((condition, condition.metrics.iter().find(|metric| metric.name == *name)?)))
        .filter(|(_, metric)| !metric.modes.is_empty())
        // The first screen names the modes of the first condition and counts the others.
        .skip(1)
        .map(|(condition, metric)| {
            let (modes, number) = (terms::modes(&metric.modes, metric.unit), metric.modes.len());
            let cause = metric.mode_cause.as_ref().map_or_else(
                || "no recorded covariate explains which trial is in which mode".to_owned(),
                |cause| mode_cause(cause, metric.unit),
            );
            format!("{}: {name} has {number} modes, {modes}; {cause}", condition.name)
        })
        .collect()
}

fn single_trials(summary: &Summary) -> Option<String> {
    let single = summary.conditions.iter().filter(|condition| condition.analysed() == 1).count();
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

/// Captures that failed, with the reason: one line per reason.
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

/// Helpers that servers left running, by name, because they ran next to the measured server.
fn outliving(results: &Results) -> Vec<String> {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for trial in &results.trials {
        let own = trial.outlived.iter().map(|process| process.name.as_str());
        own.collect::<BTreeSet<&str>>().into_iter().for_each(|name| *names.entry(name).or_default() += 1);
    }
    let line = |(name, times)| {
        format!("a process {name} that the server had started outlived it in {}, and was killed", count(times, "trial"))
    };
    names.into_iter().map(line).collect()
}

/// Conditions whose trials ran with more than one program; if every condition has its own program, that may be the
/// purpose. A change of the server's version is reported as such, and not also as another program.
fn exchanged(results: &Results) -> impl Iterator<Item = String> {
    let digest = |sha1: &String| sha1.chars().take(DIGITS).collect::<String>();
    let version = |trial: &TrialRecord| trial.server_version.clone();
    let server = |trial: &TrialRecord| trial.server_program.as_ref().map(digest);
    let differ = |condition: &str| clients_differ(results.trials.iter().filter(|trial| trial.condition == condition));
    let client = |trial: &TrialRecord| {
        let programs: Vec<String> = trial.client_programs.iter().take(SHOWN_PROGRAMS).map(digest).collect();
        (!programs.is_empty() && differ(&trial.condition)).then(|| programs.join(" with "))
    };
    let server = mixed(results, "server version", version).or_else(|| mixed(results, "server program", server));
    server.into_iter().chain(mixed(results, "client program", client))
}

/// Maximum programs of a client that are printed, for instance a script and the program that it executes.
const SHOWN_PROGRAMS: usize = 2;
/// Printed digits of a program's SHA-1.
const DIGITS: usize = 12;

fn mixed(results: &Results, what: &str, of: impl Fn(&TrialRecord) -> Option<String>) -> Option<String> {
    let mut all: BTreeMap<&str, BTreeMap<String, usize>> = BTreeMap::new();
    for trial in &results.trials {
        if let Some(found) = of(trial) {
            *all.entry(&trial.condition).or_default().entry(found).or_default() += 1;
        }
    }
    let mixed: Vec<_> = all.into_iter().filter(|(_, found)| found.len() > 1).collect();
    let (condition, found) = mixed.first()?;
    let total: usize = found.values().sum();
    let share = |(one, n): (&String, &usize)| format!("{one} ({} of trials)", percent(*n as f64 / total as f64));
    let words: Vec<String> = found.iter().map(share).collect();
    let more = match mixed.len() - 1 {
        0 => String::new(),
        n => format!("; so did {}", count(n, "more condition")),
    };
    Some(format!("{condition} ran on more than one {what}: {}{more}", words.join(", ")))
}
