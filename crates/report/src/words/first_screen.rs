//! The first screen of a report: what was run, the machine, the answer, and its certainty.

use super::answer::AnswerJson;
use super::further::further;
use super::warnings::warnings;
use super::{ab, certificate};
use std::collections::BTreeSet;
use tare_findings::certificate::Certified;
use tare_findings::collect::is_usable;
use tare_findings::condition::{ConditionSummary, MetricSummary};
use tare_findings::summary::Summary;
use tare_results::schema::TrialRecord;
use tare_results::{Results, Source};
use tare_text::{count, list, percent};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstScreen {
    pub run: String,
    pub machine: String,
    /// The answer: one sentence of at most 25 words.
    pub out: String,
    /// Its intervals and exceptions, then further results.
    pub further: Vec<String>,
    pub sure: String,
    /// What a reader must know first, the most serious first.
    pub warnings: Vec<String>,
}

pub fn first_screen(summary: &Summary, results: &Results) -> FirstScreen {
    let (out, details) = answer(summary, results);
    FirstScreen {
        run: what_was_run(summary, results),
        machine: on_what(results),
        out,
        further: [details, further(summary, results)].concat(),
        warnings: warnings(summary, results),
        sure: how_sure(summary, results),
    }
}

/// The first sentence and its details. For paired comparisons, the answer from the pairs comes before that from all
/// trials.
pub(crate) fn answer(summary: &Summary, results: &Results) -> (String, Vec<String>) {
    let AnswerJson { text, mut details, .. } = AnswerJson::of(&summary.answer);
    let Some(pairs) = &summary.pairs else { return (text, details) };
    details.insert(0, format!("Over all trials, without pairing: {text}"));
    if let Some(certified) = Certified::stored(results) {
        let words = certificate::alongside(Some(&certified));
        details.insert(0, format!("A/A there: {}.", tare_text::shown(&words)));
    }
    (ab::sentence(pairs), details)
}

fn what_was_run(summary: &Summary, results: &Results) -> String {
    if let Some(plan) = results.plan.as_ref().filter(|_| results.trials.is_empty()) {
        let realizable = plan.realizable().count();
        let (conditions, trials) = (count(realizable, "condition"), count(plan.trials.len(), "trial"));
        return format!("{}: {conditions} and {trials} are planned, none has run yet.", results.study);
    }
    let analysed: usize = summary.conditions.iter().map(ConditionSummary::analysed).sum();
    let conditions = count(summary.conditions.len(), "condition");
    let samples = results.trials.iter().map(|trial| trial.sample_count()).max().unwrap_or(0);
    let versions: BTreeSet<String> =
        results.trials.iter().filter(|trial| is_usable(trial)).filter_map(server).collect();
    let version = match versions.len() {
        0 => String::new(),
        _ => format!(", server {}", list(&versions.into_iter().collect::<Vec<_>>())),
    };
    // The clock may have been set back during the run, so the last trial need not have the latest time.
    let times = || results.trials.iter().map(|trial| trial.started_at.as_str()).filter(|time| !time.is_empty());
    let when = match (times().min(), times().max()) {
        (Some(first), Some(last)) => format!(", from {} to {}", to_the_second(first), to_the_second(last)),
        _ => String::new(),
    };
    format!(
        "{}: {conditions}, {} analysed, up to {} each{version}{when}.",
        results.study,
        count(analysed, "trial"),
        count(samples, "sample")
    )
}

/// The product and version of the server, as far as known.
fn server(trial: &TrialRecord) -> Option<String> {
    let version = trial.server_version.as_deref()?;
    let product = trial.server.as_ref().map_or("", |server| server.product.as_str());
    let is_named = product.is_empty() || version.starts_with(product);
    Some(if is_named { version.to_owned() } else { format!("{product} {version}") })
}

/// An RFC 3339 time without its fraction of a second.
fn to_the_second(time: &str) -> String {
    match time.split_once('.') {
        Some((whole, _)) if time.ends_with('Z') => format!("{whole}Z"),
        _ => time.to_owned(),
    }
}

fn on_what(results: &Results) -> String {
    let Some(environment) = &results.environment else {
        return match results.source {
            Source::Csv => "Unknown: a CSV file does not describe the machine.".to_owned(),
            Source::Directory if results.trials.is_empty() => "Known when the first trial has run.".to_owned(),
            Source::Directory => "Unknown: environment.json is missing.".to_owned(),
        };
    };
    let guest = match environment.hypervisor.as_deref() {
        None => String::new(),
        // The CPU only reports that there is a hypervisor.
        Some("virtual machine") => ", a virtual machine".to_owned(),
        Some(name) => format!(", a virtual machine under {name}"),
    };
    format!("{}{guest}, {}, kernel {}.", environment.cpu_model, environment.os, environment.kernel)
}

fn how_sure(summary: &Summary, results: &Results) -> String {
    let Some(name) = &summary.headline_metric else {
        let none = if results.trials.is_empty() { "Nothing was measured yet." } else { "No metric was measured." };
        return none.to_owned();
    };
    let measured: Vec<(&str, &MetricSummary)> = summary
        .conditions
        .iter()
        .filter_map(|c| Some((c.name.as_str(), c.metrics.iter().find(|metric| metric.name == *name)?)))
        .collect();
    let trials: Vec<usize> = measured.iter().map(|(_, metric)| metric.trials).collect();
    let (fewest, most) = (trials.iter().min().copied().unwrap_or(0), trials.iter().max().copied().unwrap_or(0));
    let per = if fewest == most { count(fewest, "trial") } else { format!("{fewest} to {most} trials") };
    let unit = unit(results);
    let widest = measured
        .iter()
        // A mean that describes no trial has no useful interval.
        .filter_map(|(name, metric)| Some((name, metric.interval()?.width() / 2.0 / metric.mean.abs(), metric.trials)))
        .filter(|(_, half, _)| half.is_finite())
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let widest = match widest {
        None => "no interval can be given".to_owned(),
        Some((name, half, trials)) if half > 1.0 => format!(
            "{} at {name} cannot be estimated from {}: its 95% interval is wider than its mean",
            metric_name(summary),
            count(trials, "trial")
        ),
        Some((name, half, _)) => {
            let without: Vec<_> = measured.iter().filter(|(_, metric)| metric.interval().is_none()).collect();
            let without = match without.as_slice() {
                [] => String::new(),
                [(one, _)] => format!("; {one} has none"),
                all => format!("; {} conditions have none", all.len()),
            };
            format!("the widest 95% interval of {} is ±{}, at {name}{without}", metric_name(summary), percent(half))
        }
    };
    let order = results
        .plan
        .as_ref()
        .map_or(String::new(), |plan| format!(" Trials ran in randomised blocks (seed {}).", plan.seed));
    format!("{per} per condition{unit}; {widest}.{order}")
}

/// What a trial is, the unit over which intervals are computed.
fn unit(results: &Results) -> &'static str {
    let trials = &results.trials;
    match results.source {
        Source::Csv => "",
        // Counters have no server: each trial is a new process that counts.
        Source::Directory if trials.iter().all(|trial| trial.server_version.is_none()) => ", each a fresh process",
        Source::Directory if trials.iter().any(|trial| trial.uncontrolled.contains_key("server lifetime")) => {
            ", each a reconnection to a running server"
        }
        Source::Directory if trials.iter().any(TrialRecord::ran_already) => {
            ", each a restart of the server by its owner's command"
        }
        Source::Directory if trials.iter().any(|trial| trial.lifetime.is_some()) => ", rungs of a ladder on one server",
        Source::Directory => ", each a fresh server",
    }
}

fn metric_name(summary: &Summary) -> &str {
    summary.headline_metric.as_deref().unwrap_or("the metric")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::schema::{Levels, PlannedTrial, SampleRecord};

    #[test]
    fn a_run_does_not_end_before_it_began_where_the_clock_was_set_back() {
        let trial = |(trial, started_at): (usize, &str)| {
            let planned = PlannedTrial { trial, block: trial, condition: "a".to_owned(), lifetime: None };
            TrialRecord::new(&planned, 1, Levels::new(), started_at.to_owned())
        };
        let times = ["2026-11-20T10:00:00.5Z", "2026-11-20T10:30:00.5Z", "2026-11-20T09:00:00.5Z"];
        let results = Results { trials: times.into_iter().enumerate().map(trial).collect(), ..Results::default() };
        let text = what_was_run(&tare_findings::summarize(&results), &results);
        assert!(text.ends_with(", from 2026-11-20T09:00:00Z to 2026-11-20T10:30:00Z."), "{text}");
    }

    #[test]
    fn half_of_an_interval_is_not_negative_where_the_mean_is() {
        let trial = |(trial, value): (usize, f64)| {
            let planned = PlannedTrial { trial, block: trial, condition: "a".to_owned(), lifetime: None };
            let metrics = [("score".to_owned(), value)].into();
            let sample = SampleRecord { elapsed_s: 1.0, metrics, ..SampleRecord::default() };
            TrialRecord { samples: vec![sample], ..TrialRecord::new(&planned, 1, Levels::new(), String::new()) }
        };
        let trials = [-5.0, -5.1, -5.2].into_iter().enumerate().map(trial).collect();
        let results = Results { trials, ..Results::default() };
        let text = how_sure(&tare_findings::summarize(&results), &results);
        assert!(text.contains("is ±4.9%, at a"), "{text}");
    }
}
