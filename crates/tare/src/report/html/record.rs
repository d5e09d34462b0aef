//! The command that repeats the run, the resolved study, and every trial as tab-separated values.

use super::given::Page;
use crate::analysis::collect;
use maud::{Markup, html};
use tare_results::Source;
use tare_results::schema::Outcome;

/// Bytes of embedded values; beyond them only the headline metric is embedded.
const RECORD_BYTES: usize = 300_000;

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
                "Full record, when this file stands in its results directory: "
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

/// One line a trial: number, attempt, condition, outcome, start, mean of each metric.
fn values(page: &Page<'_>, metrics: &[String]) -> String {
    let mut text = format!("trial\tattempt\tcondition\toutcome\tstarted_at\t{}\n", metrics.join("\t"));
    for trial in &page.results.trials {
        let outcome = match trial.outcome {
            Outcome::Ok => "ok",
            Outcome::Failed => "failed",
            Outcome::Contaminated => "disturbed, put aside",
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

/// Six significant digits: more than any benchmark repeats.
fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let decimals = (5 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    format!("{value:.decimals$}")
}
