//! The command that repeats the run, the resolved study, and all trials as tab-separated values.

use super::given::Page;
use super::scroll::scroll;
use crate::figures::Scale;
use maud::{Markup, html};
use tare_findings::collect;
use tare_findings::state::{self, State};
use tare_results::Source;
use tare_results::schema::{Outcome, TrialRecord};
use tare_text::count;

/// Maximum bytes of embedded values; beyond this only the headline metric is embedded.
const RECORD_BYTES: usize = 300_000;
const LISTED: usize = 250;

pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let command = page.results.environment.as_ref().map(|environment| environment.command.as_str());
    let metrics = collect::all_metrics(&page.conditions);
    let mut values = values(page, &metrics);
    let cut = values.len() > RECORD_BYTES;
    if cut {
        values = self::values(page, page.summary.headline_metric.as_slice());
    }
    Some(html! {
        @if let Some(command) = command { p { "This command repeats the run:" } pre.command tabindex="0" { (command) } }
        @if page.results.source == Source::Directory {
            p {
                "Full record, if this file is in its results directory: "
                a href="trials.jsonl" { "trials.jsonl" } ", " a href="plan.json" { "plan.json" } ", "
                a href="environment.json" { "environment.json" } ", " a href="study.toml" { "study.toml" } ", "
                a href="logs/" { "logs" } "."
            }
        }
        @if let Some(study) = &page.results.study_toml {
            details { summary { "The resolved study" } pre tabindex="0" { (study) } }
        }
        details {
            summary { "Every trial as tab-separated values" }
            @if cut { p.note { "Only the headline metric, to keep this file small; trials.jsonl has the rest." } }
            pre tabindex="0" { (values) }
        }
    })
}

pub(super) fn trials(page: &Page<'_>) -> Option<Markup> {
    let trials = &page.results.trials;
    let metric = page.summary.headline_metric.as_deref();
    let unit = metric.map_or("", |metric| tare_results::metric::describe(metric).unit);
    let in_directory = page.results.source == Source::Directory;
    let largest = trials.iter().filter_map(|t| collect::trial_mean(t, metric?)).fold(0.0, f64::max);
    let scale = Scale::new(unit, largest, 4);
    let log = |name: &str, trial: usize, attempt: u32| format!("logs/{name}-{trial:05}-{attempt}.log");
    (!trials.is_empty()).then(|| {
        html! {
            details {
                summary { (count(trials.len(), "attempt")) @if in_directory { ", with links to their logs" } }
                (scroll("Table of trials", &html! {
                    table {
                        thead { tr {
                            th.l.c scope="col" { "trial" } th.l scope="col" { "condition" } th.l.c scope="col" { "state" }
                            th scope="col" { (metric.unwrap_or("")) @if !scale.unit.is_empty() { ", " (scale.unit) } }
                            th.l scope="col" { "reason" } @if in_directory { th.l.c scope="col" { "logs" } }
                        } }
                        tbody { @for trial in trials.iter().take(LISTED) { tr data-c=(trial.condition) {
                            td.l.c { (trial.trial) @if trial.attempt > 1 { " (" (trial.attempt) ")" } }
                            th scope="row" { (trial.condition) }
                            td.l.c { (word(trial)) }
                            td { @if let Some(mean) = metric.and_then(|m| collect::trial_mean(trial, m)) { (scale.number(mean)) } }
                            td.l { (trial.reason.as_deref().unwrap_or("")) }
                            @if in_directory { td.l.c {
                                a href=(log("trial", trial.trial, trial.attempt)) { "trial" } " "
                                a href=(log("server", trial.trial, trial.attempt)) { "server" }
                            } }
                        } } }
                    }
                }))
                @if trials.len() > LISTED { p.note { "The first " (LISTED) "; trials.jsonl has all." } }
            }
        }
    })
}

fn word(trial: &TrialRecord) -> &'static str {
    match state::of(trial) {
        State::Clean => "clean",
        State::Disturbed(_) if trial.outcome == Outcome::Disturbed => "set aside",
        State::Disturbed(_) => "disturbed",
        State::Failed(_) => "failed",
    }
}

/// One line per trial: number, attempt, condition, outcome, start, mean of each metric.
fn values(page: &Page<'_>, metrics: &[String]) -> String {
    let mut text = format!("trial\tattempt\tcondition\toutcome\tstarted_at\t{}\n", metrics.join("\t"));
    for trial in &page.results.trials {
        let outcome = match trial.outcome {
            Outcome::Ok => "ok",
            Outcome::Failed => "failed",
            Outcome::Disturbed => "disturbed, set aside",
        };
        text.push_str(&format!(
            "{}\t{}\t{}\t{outcome}\t{}",
            trial.trial, trial.attempt, trial.condition, trial.started_at
        ));
        for metric in metrics {
            text.push('\t');
            if let Some(mean) = collect::trial_mean(trial, metric) {
                text.push_str(&significant(mean));
            }
        }
        text.push('\n');
    }
    text
}

/// Six significant digits: more than any benchmark can reproduce.
fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let decimals = (5 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    if value.abs() >= 1e12 { format!("{value:.5e}") } else { format!("{value:.decimals$}") }
}
