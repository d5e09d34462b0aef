//! Steps over many ladders, in words.

use super::terms::interval_of_ratio;
use tare_findings::figures::{count, list, times};
use tare_findings::level_words::words_of;
use tare_findings::pooled::{PooledStep, StepExceptions};

/// Loads that a first sentence names.
const NAMED: usize = 3;

/// First sentences, the fullest first; none where nothing was pooled.
pub(super) fn headlines(pooled: &[PooledStep], ladders: usize) -> Vec<String> {
    let mut less: Vec<&PooledStep> = pooled.iter().filter(|step| step.less).collect();
    less.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let Some(first) = less.first() else { return without_less(pooled, ladders) };
    let same: Vec<&&PooledStep> =
        less.iter().filter(|step| (step.from, step.to) == (first.from, first.to)).take(NAMED).collect();
    let of_loads: Vec<String> = same.iter().map(|step| given(step)).collect();
    let step = span(first);
    let all = less.iter().filter(|step| step.exceptions.is_empty()).count();
    let over = match (less.len(), all) {
        (1, 1) => format!(" on all {}", count(first.ladders, "ladder")),
        (1, _) => format!(" on {}", count(first.ladders, "ladder")),
        _ => String::new(),
    };
    vec![
        format!("More stops helping: {step} gave {}{over}{}.", list(&of_loads), possible(first)),
        format!("More stops helping: {step} gave {}{over}.", list(&of_loads)),
        format!("More stops helping: {step} gave {}.", times(first.ratio)),
    ]
}

/// What the last step gave, where no step is shown to give less on all ladders.
fn without_less(pooled: &[PooledStep], ladders: usize) -> Vec<String> {
    let none = format!("On no step of {} is more shown to give less", count(ladders, "ladder"));
    let last = pooled.iter().filter(|step| step.ci.is_some() && step.possible().is_some());
    let last = last.max_by(|a, b| a.to.total_cmp(&b.to).then(b.ratio.total_cmp(&a.ratio)));
    let gain = last.map(|step| format!("{none}; {} gave {}{}.", span(step), given(step), possible(step)));
    gain.into_iter().collect()
}

/// Every step with its interval, and its exceptions.
pub(super) fn details(pooled: &[PooledStep]) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    for step in pooled.iter().filter(|step| step.over != "threads" || step.is_claim()) {
        let load = step.load.as_ref().map_or_else(String::new, |load| format!("{load}, "));
        let interval = step.ci.map_or_else(String::new, |ci| format!(" ({})", interval_of_ratio(ci)));
        let mut text = format!(
            "{load}{}: {}{interval}{} over {}",
            span(step),
            times(step.ratio),
            possible(step),
            count(step.ladders, "ladder")
        );
        if !step.exceptions.is_empty() {
            let named: Vec<String> = step.exceptions.iter().map(exception).collect();
            text.push_str(&format!("; except {}", list(&named)));
        }
        text.push('.');
        sentences.push(text);
    }
    sentences
}

fn span(step: &PooledStep) -> String {
    format!("{} to {} {}", step.from, step.to, step.over)
}

fn given(step: &PooledStep) -> String {
    match &step.load {
        Some(load) => format!("{} ({load})", times(step.ratio)),
        None => times(step.ratio),
    }
}

fn possible(step: &PooledStep) -> String {
    step.possible().map_or_else(String::new, |possible| format!(" of a possible {possible}x"))
}

/// "distribution=zipfian from 256 threads 0.72x to 0.80x".
fn exception(found: &StepExceptions) -> String {
    let at = [Some(words_of(&found.levels)), found.from_threads.map(|from| format!("from {from} threads"))];
    let at: Vec<String> = at.into_iter().flatten().filter(|words| !words.is_empty()).collect();
    let (low, high) = (times(found.ratio.0), times(found.ratio.1));
    let ratio = if low == high { low } else { format!("{low} to {high}") };
    format!("{} {ratio}", at.join(" "))
}
