//! Throughput per second, with gaps and standstills.

use super::given::Page;
use super::scroll::scroll;
use crate::charts::seconds::{self, SampleSeries};
use crate::words::client_limit;
use maud::{Markup, html};
use tare_findings::client_limit::LongestStall;
use tare_results::schema::{SampleRecord, TrialRecord};

/// Maximum conditions drawn, and samples of each; `trials.jsonl` has all.
const CONDITIONS: usize = 12;
const LINES: usize = 24;
const READINGS: usize = 3;

/// One chart per condition; the first one with a standstill is unfolded.
pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let all: Vec<(&str, Vec<SampleSeries>)> = page
        .conditions
        .iter()
        .map(|condition| (condition.name, condition.ok.iter().flat_map(|trial| of_trial(trial)).collect::<Vec<_>>()))
        .filter(|(_, lines)| !lines.is_empty())
        .collect();
    let open = all.iter().position(|(_, lines)| lines.iter().any(|line| line.stall.is_some())).unwrap_or(0);
    (!all.is_empty()).then(|| {
        html! {
            p.note {
                "A line is a sample. Crosses are seconds below half of their sample's usual throughput; a shaded area is the "
                "longest time of a sample in which no transaction completed; its tooltip says which side stalled."
            }
            @for (place, (condition, mut lines)) in all.into_iter().take(CONDITIONS).enumerate() {
                @let left_out = lines.len().saturating_sub(LINES);
                details open[place == open] {
                    summary { (page.swatch(condition)) (condition) }
                    (scroll(&format!("Throughput second by second under {condition}"), &html! {
                        ({ worst_first(&mut lines); seconds::draw(condition, &lines, page.mark(condition)) })
                    }))
                    @if left_out > 0 { p.note { (left_out) " more samples, without a longer stall, are in the \
                                                            record." } }
                }
            }
        }
    })
}

/// Keeps the samples with the longest standstills if there are too many to be distinguishable.
fn worst_first(lines: &mut Vec<SampleSeries>) {
    let length = |line: &SampleSeries| line.stall.as_ref().map_or(0.0, |(_, length_s, _)| *length_s);
    lines.sort_by(|a, b| length(b).total_cmp(&length(a)));
    lines.truncate(LINES);
}

fn of_trial(trial: &TrialRecord) -> Vec<SampleSeries> {
    let series = trial.samples.iter().filter(|sample| sample.tps_each_second.len() >= READINGS);
    series.map(|sample| line(trial, sample)).collect()
}

fn line(trial: &TrialRecord, sample: &SampleRecord) -> SampleSeries {
    SampleSeries {
        name: format!("trial {}, sample {}", trial.trial, sample.sample),
        tps: sample.tps_each_second.clone(),
        stall: LongestStall::of(&sample.covariates)
            .map(|stall| (stall.from_s, stall.length_s, client_limit::stall_words(&stall))),
    }
}
