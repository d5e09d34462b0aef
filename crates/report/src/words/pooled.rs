//! Sentences on steps pooled over many ladders.

use super::terms::interval_of_ratio;
use crate::figures::times;
use tare_findings::factors::words_of;
use tare_findings::pooled::{PooledStep, StepExceptions};
use tare_text::{count, list};

/// Maximum loads named in the first sentence.
const NAMED: usize = 3;

/// Candidates for the first sentence, the longest first; empty if nothing was pooled.
pub(super) fn headlines(pooled: &[PooledStep], ladders: usize) -> Vec<String> {
    let mut less: Vec<&PooledStep> = pooled.iter().filter(|step| step.less).collect();
    less.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let Some(first) = less.first() else { return without_less(pooled, ladders) };
    let same: Vec<&&PooledStep> =
        less.iter().filter(|step| (step.from, step.to) == (first.from, first.to)).take(NAMED).collect();
    let of_loads: Vec<String> = same.iter().map(|step| given(step, None)).collect();
    let step = span(first);
    // The figure is a mean, and need not be that of any single ladder.
    let over = match less.len() {
        1 => format!(" on average over {}", count(first.ladders, "ladder")),
        _ => String::new(),
    };
    vec![
        format!("Negative scaling: {step} gave {}{}{over}.", list(&of_loads), possible(first)),
        format!("Negative scaling: {step} gave {}{over}.", list(&of_loads)),
        format!("Negative scaling: {step} gave {}.", times(first.ratio)),
    ]
}

/// The gain of the last step, if no step is shown to reduce throughput on all ladders.
fn without_less(pooled: &[PooledStep], ladders: usize) -> Vec<String> {
    let none = format!("No step of {} shows negative scaling", count(ladders, "ladder"));
    let last = pooled.iter().filter(|step| step.ci.is_some() && step.possible().is_some());
    let last = last.max_by(|a, b| a.to.total_cmp(&b.to).then(b.ratio.total_cmp(&a.ratio)));
    let gain = last.into_iter().flat_map(|step| {
        let with = |interval| format!("{none}; {} gave {}{}.", span(step), given(step, interval), possible(step));
        [with(step.ci.map(interval_of_ratio)), with(None)]
    });
    gain.collect()
}

/// Every step with its interval and its exceptions.
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

fn given(step: &PooledStep, interval: Option<String>) -> String {
    let aside: Vec<String> = step.load.clone().into_iter().chain(interval).collect();
    let ratio = times(step.ratio);
    if aside.is_empty() { ratio } else { format!("{ratio} ({})", aside.join(", ")) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use tare_stats::Interval;

    fn step(load: &str, to: f64, ratio: f64, less: bool) -> PooledStep {
        PooledStep {
            over: "nodes".to_owned(),
            load: Some(load.to_owned()),
            from: to / 2.0,
            to,
            ratio,
            ci: Some(Interval { low: ratio - 0.01, high: ratio + 0.01 }),
            ladders: 22,
            less,
            exceptions: Vec::new(),
        }
    }

    #[test]
    fn a_grid_is_one_sentence_with_each_load_and_a_line_a_step() {
        let mut all = [step("point_select", 4.0, 0.87, true), step("read_only", 4.0, 1.2, false)];
        let expected =
            "Negative scaling: 2 to 4 nodes gave 0.87x (point_select) of a possible 2x on average over 22 ladders.";
        assert_eq!(headlines(&all, 44)[0], expected);
        all[1].exceptions = vec![StepExceptions {
            levels: [("distribution".to_owned(), "zipfian".to_owned())].into(),
            from_threads: Some(256.0),
            ladders: 3,
            ratio: (0.72, 0.8),
        }];
        let expected = "read_only, 2 to 4 nodes: 1.20x (95% interval 1.19x to 1.21x) of a possible 2x over 22 ladders; \
                        except distribution=zipfian from 256 threads 0.72x to 0.80x.";
        assert_eq!(details(&all)[1], expected);
        let none = headlines(&all[1..], 22);
        let expected = "gave 1.20x (read_only, 95% interval 1.19x to 1.21x) of a possible 2x.";
        assert!(none[0].ends_with(expected), "{none:?}");
    }
}
