//! Plain sentences from the figures: true, careful, and with a unit on every number.

use super::figures::{count, figure, list, percent, times};
use super::steadiness;
use super::summary::{ConditionSummary, Effect, MetricSummary, Summary};
use std::collections::BTreeSet;
use tare_results::metric::{self, Better};
use tare_results::schema::Levels;
use tare_results::{Results, Source};
use tare_stats::Interval;

/// The fewest trials of a condition from which anything is claimed without a caution.
const ENOUGH_TRIALS: usize = 5;

/// What came out, in one sentence.
pub fn headline(summary: &Summary, results: &Results) -> String {
    let Some(name) = &summary.headline_metric else {
        return match results.trials.len() {
            0 => "No trial has been recorded yet.".to_owned(),
            n => format!("No trial gave a usable result: {} recorded, none of them ok.", count(n, "attempt")),
        };
    };
    let mut measured: Vec<(&ConditionSummary, &MetricSummary)> = summary
        .conditions
        .iter()
        .filter_map(|condition| Some((condition, condition.metrics.iter().find(|metric| metric.name == *name)?)))
        .collect();
    measured.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
    match measured.as_slice() {
        [] => "No trial gave a usable result.".to_owned(),
        [(condition, metric)] => one_condition(condition, metric),
        [low, .., high] => several(low, high, measured.len(), summary, results),
    }
}

fn one_condition(condition: &ConditionSummary, metric: &MetricSummary) -> String {
    let name = if condition.name.is_empty() { "the only condition" } else { &condition.name };
    if !metric.modes.is_empty() {
        return format!(
            "Only {name} was measured, and its {} has two modes: {}. There is nothing to compare it with.",
            phrase(&metric.name),
            modes(metric)
        );
    }
    let interval = match metric.ci {
        Some(Interval { low, high }) => format!(
            " (95% interval {} to {} over {})",
            figure(low, &metric.unit),
            figure(high, &metric.unit),
            count(metric.trials, "trial")
        ),
        _ => " in a single trial, which cannot say how much of that is luck".to_owned(),
    };
    format!(
        "Only {name} was measured: {} {}{interval}. There is nothing to compare it with.",
        phrase(&metric.name),
        figure(metric.mean, &metric.unit)
    )
}

type Measured<'a> = (&'a ConditionSummary, &'a MetricSummary);

fn several(low: &Measured<'_>, high: &Measured<'_>, measured: usize, summary: &Summary, results: &Results) -> String {
    let (metric, words) = (&low.1.name, phrase(&low.1.name));
    if let Some(text) = largest_effect(low.1, summary, results) {
        return text;
    }
    let few = low.1.trials.min(high.1.trials);
    let overlap = overlap(low.1, high.1);
    let from_to = format!(
        "from {} at {} to {} at {}",
        figure(low.1.mean, &low.1.unit),
        low.0.name,
        figure(high.1.mean, &high.1.unit),
        high.0.name
    );
    let ratio = if low.1.mean > 0.0 { high.1.mean / low.1.mean } else { f64::NAN };
    let mut text = match overlap {
        Some(true) if modes_of(summary, metric).is_empty() => format!(
            "No difference is shown between the {measured} conditions: {words} went {from_to}, but the 95% \
             intervals of these two overlap"
        ),
        _ if ratio.is_finite() => {
            let here = if results.source == Source::Directory { " on this machine" } else { "" };
            format!("{} moved {words} {}{here}: {from_to}", mover(summary), times(ratio))
        }
        _ => format!("{words} went {from_to}"),
    };
    match overlap {
        None => text.push_str("; with one trial a condition nothing says how much of this is luck"),
        Some(overlaps) => {
            text.push_str(&spread_words(low.1, high.1, overlaps));
            if few < ENOUGH_TRIALS {
                text.push_str(&format!("; {} a condition are few, repeat before relying on it", count(few, "trial")));
            }
        }
    }
    text.push('.');
    text
}

/// With two or more two-level factors: the largest main effect, over all trials, says more than best against worst.
fn largest_effect(metric: &MetricSummary, summary: &Summary, results: &Results) -> Option<String> {
    let mains: Vec<&Effect> =
        summary.effects.iter().filter(|e| e.metric == metric.name && !e.levels.is_empty() && e.ci.is_some()).collect();
    let several = summary.conditions.iter().filter_map(|c| c.spread.as_ref()).any(|spread| spread.metrics > 1);
    if several && !mains.is_empty() {
        return over_queries(&mains, summary, results);
    }
    let factors: BTreeSet<&str> = mains.iter().filter_map(|effect| effect.term.split('=').next()).collect();
    if factors.len() < 2 {
        return None;
    }
    let shown = |effect: &Effect| effect.ci.is_some_and(|ci| !ci.contains(1.0));
    let words = phrase(&metric.name);
    let here = if results.source == Source::Directory { " on this machine" } else { "" };
    let interval = |effect: &Effect| match effect.ci {
        Some(Interval { low, high }) => format!(", 95% interval {} to {}", times(low), times(high)),
        _ => String::new(),
    };
    let mut ranked: Vec<&Effect> = mains.iter().copied().filter(|effect| shown(effect)).collect();
    ranked.sort_by(|a, b| b.mean_ratio.ln().abs().total_cmp(&a.mean_ratio.ln().abs()));
    let names: Vec<String> = mains.iter().map(|effect| effect.term.clone()).collect();
    let Some((first, rest)) = ranked.split_first() else {
        return Some(format!("None of {} is shown to move {words}{here}.", list(&names)));
    };
    let lead = format!(
        "{} moved {words} {}{here} ({}{}, averaged over the other factors)",
        first.term,
        times(first.mean_ratio),
        first.levels.replace('/', " against "),
        interval(first)
    );
    let rest: Vec<String> = rest.iter().map(|effect| format!("{} {}", effect.term, times(effect.mean_ratio))).collect();
    let rest = after_it(rest).unwrap_or_else(|| "no other factor is shown to".to_owned());
    Some(format!("{lead}; {rest}."))
}

/// With several queries the first one is not the study: each factor's effect is averaged over all of them.
fn over_queries(mains: &[&Effect], summary: &Summary, results: &Results) -> Option<String> {
    let average = |term: &str| {
        let logs: Vec<f64> = summary
            .effects
            .iter()
            .filter(|e| e.term == term && metric::describe(&e.metric).is_primary())
            .map(|e| e.mean_ratio.ln())
            .collect();
        let shown = summary.effects.iter().filter(|e| e.term == term && metric::describe(&e.metric).is_primary());
        let shown = shown.filter(|e| e.ci.is_some_and(|ci| !ci.contains(1.0)));
        (logs.iter().sum::<f64>() / logs.len().max(1) as f64, shown.count(), logs.len())
    };
    let mut ranked: Vec<(&Effect, (f64, usize, usize))> =
        mains.iter().map(|effect| (*effect, average(&effect.term))).collect();
    ranked.sort_by(|a, b| b.1.0.abs().total_cmp(&a.1.0.abs()));
    let (first, (log, shown, queries)) = ranked.first()?;
    let here = if results.source == Source::Directory { " on this machine" } else { "" };
    let rest: Vec<String> =
        ranked[1..].iter().map(|(effect, (log, ..))| format!("{} {}", effect.term, times(log.exp()))).collect();
    let rest = after_it(rest).map_or(String::new(), |rest| format!("; {rest}"));
    Some(format!(
        "{} moved the {} {} on average{here} ({}; shown for {shown} of them){rest}.",
        first.term,
        steadiness::many(*queries, &first.metric),
        times(log.exp()),
        first.levels.replace('/', " against ")
    ))
}

/// "after it a 1.2x, b 1.1x and 9 more": the first few of a long list, for the table has them all. None of none.
fn after_it(mut rest: Vec<String>) -> Option<String> {
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

/// "placement alone" when one factor differs, "placement and threads" when all of several differ between conditions.
fn mover(summary: &Summary) -> String {
    let factors = varying_factors(summary.conditions.iter().map(|condition| &condition.levels));
    match factors.as_slice() {
        [] => "the choice of condition".to_owned(),
        [one] => format!("{one} alone"),
        several => format!("{} together", list(several)),
    }
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

/// Whether the intervals of two conditions overlap; none when either has no interval.
fn overlap(low: &MetricSummary, high: &MetricSummary) -> Option<bool> {
    Some(low.ci?.high >= high.ci?.low)
}

fn spread_words(low: &MetricSummary, high: &MetricSummary, overlaps: bool) -> String {
    let spreads: Vec<String> = [low, high].into_iter().filter_map(|metric| metric.between_cov).map(percent).collect();
    let spread = format!("between-trial spread {}", list(&spreads));
    if overlaps { format!(" ({spread})") } else { format!(" ({spread}; their 95% intervals do not overlap)") }
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
        2 => " 1 more condition has two modes.".to_owned(),
        n => format!(" {} more conditions have two modes.", n - 1),
    };
    Some(format!("{} has two modes ({}), so its mean describes no trial{cause}.{others}", condition.name, modes(first)))
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

/// The short name of the condition at a place: A, B ... Z, AA ...
pub fn letter(index: usize) -> String {
    let one = |index: usize| char::from(b'A' + (index % 26) as u8);
    match index {
        0..26 => one(index).to_string(),
        _ => format!("{}{}", one(index / 26 - 1), one(index)),
    }
}

/// Which of two values is the better one, in words.
pub fn better_word(better: Better) -> &'static str {
    match better {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better",
    }
}
