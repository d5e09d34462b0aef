//! Plain sentences from the figures: true, careful, and with a unit on every number.

use super::figures::{figure, list, percent};
use super::steadiness;
use super::summary::{ConditionSummary, MetricSummary, Mode, Summary};
use super::term::TermFactor;
use super::verdict::Moved;
use super::words;
use std::collections::BTreeSet;
use tare_results::metric::Better;
use tare_results::schema::Levels;

/// Sentences after the headline.
pub fn further(summary: &Summary, is_spread_said: bool) -> Vec<String> {
    let Some(metric) = &summary.headline_metric else { return Vec::new() };
    let levels = summary.conditions.iter().map(|condition| &condition.levels);
    let sources = summary.spread_sources.as_ref().map(|sources| words::verdict::spread(sources, levels));
    let all = [
        modes_sentence(summary, metric),
        sources.filter(|_| !is_spread_said),
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
pub(super) fn factors_of(mains: &[Moved]) -> usize {
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
    Some(format!(
        "{name} has {number} modes ({}), so its mean describes no trial{cause}.{others}",
        modes(&first.modes, &first.unit)
    ))
}

/// `24.4 k/s in 60% of trials and 37.2 k/s in 40%`.
pub fn modes(modes: &[Mode], unit: &str) -> String {
    let words: Vec<String> = modes
        .iter()
        .enumerate()
        .map(|(index, mode)| {
            let of = if index == 0 { " of trials" } else { "" };
            format!("{} in {}{of}", figure(mode.mean, unit), percent(mode.weight))
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
