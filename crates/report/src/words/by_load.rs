//! Answers over several loads or ladders: what differs under each load, and steps pooled over many ladders.

use super::not_shown;
use super::terms::{at, first_that_fits, interval_of_ratio, measured, small_change};
use crate::figures::times;
use tare_findings::factors::words_of;
use tare_findings::pooled::{PooledStep, StepExceptions};
use tare_findings::verdict::{LessStep, Measured, OfLoad, Verdict};
use tare_text::{count, list};

/// Candidates for the first sentence, the longest first: the loads with a difference, each with its figure, and that
/// none is shown for the others. The shorter ones give only the number of such loads and the largest difference.
pub(super) fn headlines_by_load(loads: &[OfLoad]) -> Vec<String> {
    let (shown, others): (Vec<&OfLoad>, Vec<&OfLoad>) = loads.iter().partition(|own| own.shown);
    let moved: Vec<MovedLoad<'_>> = shown.iter().filter_map(|own| MovedLoad::of(own)).collect();
    let Some(MovedLoad { lead, what, .. }) = moved.first() else {
        let lead = format!("No difference is shown on any of the {} loads", loads.len());
        let figures = not_shown::largest_of(loads).map(|figures| format!("{lead} (largest {figures})."));
        return figures.into_iter().chain([format!("{lead}.")]).collect();
    };
    // Under each load another factor may make the largest difference, and which of several does is not always tested.
    let by_one = lead.as_ref().filter(|lead| moved.iter().all(|load| load.lead.as_ref() == Some(lead)));
    let lead = by_one.cloned().unwrap_or_else(|| format!("Conditions differ in {}", measured(what)));
    let figures = list(&moved.iter().map(MovedLoad::figure).collect::<Vec<_>>());
    let names = list(&others.iter().map(|own| own.load.clone()).collect::<Vec<_>>());
    let rest = |what: String| {
        if others.is_empty() { String::new() } else { format!("; no difference is shown on {what}") }
    };
    let of_all = format!("{lead} on {} of {} loads", shown.len(), loads.len());
    vec![
        format!("{lead} {figures}{}.", rest(names)),
        format!("{lead} {figures}{}.", rest(count(others.len(), "other load"))),
        format!("{of_all}: {}.", both_ways(&moved)),
        format!("{of_all}."),
        format!("{} of {} loads moved.", shown.len(), loads.len()),
    ]
}

struct MovedLoad<'v> {
    what: &'v Measured,
    /// "build moved throughput"; none if no single factor is shown to.
    lead: Option<String>,
    load: &'v str,
    ratio: f64,
    /// Whether the ratio is that of a second level to a first one, and not of the best to the worst of many.
    of_second: bool,
}

impl<'v> MovedLoad<'v> {
    fn of(own: &'v OfLoad) -> Option<Self> {
        let load = own.load.as_str();
        match &own.verdict {
            Verdict::Moved { what, first, .. } => {
                let lead = Some(format!("{} moved {}", first.term, measured(what)));
                Some(Self { what, lead, load, ratio: first.ratio, of_second: true })
            }
            Verdict::Ranked { what, ranking, by, .. } => {
                let lead = by.as_ref().map(|factor| format!("{factor} moved {}", measured(what)));
                let ratio = ranking.second.as_ref().map_or(ranking.ratio, |second| second.ratio);
                Some(Self { what, lead, load, ratio, of_second: ranking.second.is_some() })
            }
            _ => None,
        }
    }

    fn figure(&self) -> String {
        match small_change(self.ratio) {
            Some(by) => format!("by {by} on {}", self.load),
            None => format!("{} on {}", times(self.ratio), self.load),
        }
    }
}

/// "12 lower, most 0.90x on insert; 2 higher, most by 3.6% on scan."
fn both_ways(moved: &[MovedLoad<'_>]) -> String {
    let farthest = |all: &[&MovedLoad<'_>]| {
        let far = |load: &MovedLoad<'_>| load.ratio.ln().abs();
        all.iter().max_by(|a, b| far(a).total_cmp(&far(b))).map_or_else(String::new, |load| load.figure())
    };
    let all: Vec<&MovedLoad<'_>> = moved.iter().collect();
    if !moved.iter().all(|load| load.of_second) {
        return format!("most {}", farthest(&all));
    }
    let (lower, higher): (Vec<_>, Vec<_>) = all.into_iter().partition(|load| load.ratio < 1.0);
    let ways = [("lower", lower), ("higher", higher)].into_iter().filter(|(_, loads)| !loads.is_empty());
    let words: Vec<String> =
        ways.map(|(way, loads)| format!("{} {way}, most {}", loads.len(), farthest(&loads))).collect();
    words.join("; ")
}

/// Maximum loads named in the first sentence.
const NAMED: usize = 3;

/// Candidates for the first sentence, the longest first; empty if nothing was pooled.
pub(super) fn headlines_pooled(pooled: &[PooledStep], ladders: usize) -> Vec<String> {
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
pub(super) fn details_pooled(pooled: &[PooledStep]) -> Vec<String> {
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

/// A step of one ladder is mentioned only if no step of all ladders is shown.
pub(super) fn headline_of_steps(less: &[LessStep], ladders: usize, pooled: &[PooledStep]) -> String {
    let of_pooled = headlines_pooled(pooled, ladders).into_iter();
    let of_pooled = of_pooled.filter(|_| less.is_empty() || pooled.iter().any(|step| step.less));
    first_that_fits(of_pooled.chain([steps(less, ladders)]))
}

fn steps(less: &[LessStep], ladders: usize) -> String {
    let Some(first) = less.first() else {
        return match ladders {
            1 => "No step of the ladder shows negative scaling.".to_owned(),
            n => format!("No step of {} shows negative scaling.", count(n, "ladder")),
        };
    };
    let step = format!("{} to {} {} gave {}", first.from, first.to, first.over, times(first.ratio));
    let at = at(&first.levels);
    let more = match less.len() - 1 {
        0 => String::new(),
        n => format!("; {} gave less", count(n, "more step")),
    };
    first_that_fits([
        format!("Negative scaling: {step}{at}{more}."),
        format!("Negative scaling: {step}{more}."),
        "Scaling is negative on some steps.".to_owned(),
    ])
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
        assert_eq!(headlines_pooled(&all, 44)[0], expected);
        all[1].exceptions = vec![StepExceptions {
            levels: [("distribution".to_owned(), "zipfian".to_owned())].into(),
            from_threads: Some(256.0),
            ladders: 3,
            ratio: (0.72, 0.8),
        }];
        let expected = "read_only, 2 to 4 nodes: 1.20x (95% interval 1.19x to 1.21x) of a possible 2x over 22 ladders; \
                        except distribution=zipfian from 256 threads 0.72x to 0.80x.";
        assert_eq!(details_pooled(&all)[1], expected);
        let none = headlines_pooled(&all[1..], 22);
        let expected = "gave 1.20x (read_only, 95% interval 1.19x to 1.21x) of a possible 2x.";
        assert!(none[0].ends_with(expected), "{none:?}");
    }
}
