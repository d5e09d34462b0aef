//! Plain sentences from the figures: true, careful, and with a unit on every number.

use super::figures::{figure, list, percent};
use super::steadiness;
use super::summary::{ConditionSummary, Effect, MetricSummary, Summary};
use super::term::TermFactor;
use std::collections::BTreeSet;
use tare_results::metric::Better;
use tare_results::schema::Levels;

/// "after it a 1.2x, b 1.1x and 9 more": the first few of a long list, for the table has them all. None of none.
pub(super) fn after_it(mut rest: Vec<String>) -> Option<String> {
    const SHOWN: usize = 4;
    let more = rest.len().saturating_sub(SHOWN);
    if more > 1 {
        rest.truncate(SHOWN);
        rest.push(format!("{more} more"));
    }
    (!rest.is_empty()).then(|| format!("after it {}", list(&rest)))
}

/// Sentences after the headline.
pub fn further(summary: &Summary) -> Vec<String> {
    let Some(metric) = &summary.headline_metric else { return Vec::new() };
    let all = [
        modes_sentence(summary, metric),
        steadiness::sources(summary),
        steadiness::residuals(summary),
        steadiness::spread(summary),
    ];
    let mut sentences: Vec<String> = all.into_iter().flatten().collect();
    sentences.extend(super::culprits::sentences(summary, metric));
    sentences
}

/// A metric in a sentence.
pub fn phrase(metric: &str) -> String {
    match metric {
        "tps" => "throughput".to_owned(),
        other => other.to_owned(),
    }
}

/// How many factors main effects are of.
pub(super) fn factors_of(mains: &[Effect]) -> usize {
    mains.iter().filter_map(|effect| effect.term.main()).map(TermFactor::factor).collect::<BTreeSet<_>>().len()
}

/// Factors with more than one level among these conditions.
pub fn varying_factors<'a>(conditions: impl Iterator<Item = &'a Levels>) -> Vec<String> {
    let conditions: Vec<&Levels> = conditions.collect();
    let names: BTreeSet<&String> = conditions.iter().flat_map(|levels| levels.keys()).collect();
    names
        .into_iter()
        .filter(|name| conditions.iter().map(|levels| levels.get(*name)).collect::<BTreeSet<_>>().len() > 1)
        .cloned()
        .collect()
}

fn modes_of<'a>(summary: &'a Summary, metric: &str) -> Vec<(&'a ConditionSummary, &'a MetricSummary)> {
    let found = summary.conditions.iter().flat_map(|condition| condition.metrics.iter().map(move |m| (condition, m)));
    found.filter(|(_, m)| m.name == metric && !m.modes.is_empty()).collect()
}

fn modes_sentence(summary: &Summary, metric: &str) -> Option<String> {
    let bimodal = modes_of(summary, metric);
    let (condition, first) = bimodal.first()?;
    let cause = first.mode_cause.as_ref().map_or(String::new(), |cause| format!(": {cause}"));
    let others = match bimodal.len() {
        1 => String::new(),
        2 => " 1 more condition has several modes.".to_owned(),
        n => format!(" {} more conditions have several modes.", n - 1),
    };
    let (name, number) = (&condition.name, first.modes.len());
    Some(format!("{name} has {number} modes ({}), so its mean describes no trial{cause}.{others}", modes(first)))
}

/// `24.4 k/s in 60% of trials and 37.2 k/s in 40%`.
pub fn modes(metric: &MetricSummary) -> String {
    let words: Vec<String> = metric
        .modes
        .iter()
        .enumerate()
        .map(|(index, mode)| {
            let of = if index == 0 { " of trials" } else { "" };
            format!("{} in {}{of}", figure(mode.mean, &metric.unit), percent(mode.weight))
        })
        .collect();
    list(&words)
}

/// The short name of the condition at a place: A, B ... Z, AA ... ZZ, AAA ...
pub fn letter(index: usize) -> String {
    let last = char::from(b'A' + (index % 26) as u8);
    match (index / 26).checked_sub(1) {
        Some(before) => format!("{}{last}", letter(before)),
        None => last.to_string(),
    }
}

/// Which of two values is the better one, in words.
pub fn better_word(better: Better) -> &'static str {
    match better {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better",
    }
}
