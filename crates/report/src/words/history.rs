//! Sentences on a history of results.

use crate::figures::{change, changes_of};
use std::collections::BTreeSet;
use tare_findings::differences::{Difference, What};
use tare_findings::history::{
    Change, ChangedFact, ERROR_RATE, Gate, History, MetricHistory, NotTested, Point, Since, Slower,
};
use tare_results::metric::Better;
use tare_stats::Estimate;
use tare_stats::change_points::SHORTEST;
use tare_text::{count, list, small_percent};

/// Maximum differences named in a sentence; `--json` has all.
const NAMED: usize = 4;
/// Maximum characters of their values there.
const LONGEST: usize = 60;

/// A ratio as a change with its interval, `-2.1% (95% interval -2.6% to -1.5%)`.
fn changed(ratio: Estimate) -> String {
    let interval = ratio.ci.map_or("no interval".to_owned(), |ci| format!("95% interval {}", changes_of(ci)));
    format!("{} ({interval})", change(ratio.value - 1.0))
}

/// The digits of a commit hash that are printed.
pub(crate) fn hash(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// The largest change over all metrics, or that none is shown, in at most 25 words.
pub fn history_sentence(found: &History) -> String {
    let runs = runs(found);
    let changes = || found.lines.iter().flat_map(|line| line.changes.iter().map(move |change| (line, change)));
    let size = |ratio: f64| ratio.ln().abs();
    let several = found.lines.iter().any(|line| line.condition != found.lines[0].condition);
    let name =
        |line: &MetricHistory| if several { format!("{} {}", line.condition, line.name) } else { line.name.clone() };
    let moved = |line: &MetricHistory, ratio: f64| format!("{} ({})", change(ratio - 1.0), direction(line, ratio));
    if let Some((line, largest)) = changes().max_by(|a, b| size(a.1.ratio.value).total_cmp(&size(b.1.ratio.value))) {
        let head = match changes().count() {
            1 => String::new(),
            many => format!("{many} changes in {runs}; the largest: "),
        };
        let moved = format!("{head}{} moved by {}", name(line), moved(line, largest.ratio.value));
        return match largest.place.is_certain() {
            true => format!("{moved} from {} on.", run(line, largest.place.first_after)),
            false => format!("{moved} between {}.", between(line, largest.place.ends())),
        };
    }
    if let Some((line, drift)) = found.lines.iter().find_map(|line| Some((line, line.drift?))) {
        return format!(
            "{} drifted by {} over {}; no step explains it.",
            name(line),
            moved(line, drift.ratio.value),
            count(line.points.len(), "run")
        );
    }
    match tested(found) {
        0 => format!("Changes in {runs} cannot be assessed."),
        lines => format!("No change is shown in {runs} of {}{}.", count(lines, "line"), untested(found)),
    }
}

/// Number of lines that were tested.
fn tested(found: &History) -> usize {
    found.lines.iter().filter(|line| line.not_tested.is_none()).count()
}

/// The number of the other lines, if there are any, in continuation of a sentence.
fn untested(found: &History) -> String {
    match found.lines.len() - tested(found) {
        0 => String::new(),
        lines => format!("; {} cannot be assessed", count(lines, "other line")),
    }
}

/// The number of runs, also if no line has all of them.
fn runs(found: &History) -> String {
    let names: BTreeSet<&str> = found.lines.iter().flat_map(|line| &line.points).map(|point| &*point.run).collect();
    let longest = found.lines.iter().map(|line| line.points.len()).max().unwrap_or_default();
    count(names.len().max(longest), "run")
}

/// Whether a ratio is better or worse for the metric.
fn direction(line: &MetricHistory, ratio: f64) -> &'static str {
    let up = ratio > 1.0;
    match up == (line.better == Better::Higher) {
        true => "faster",
        false => "slower",
    }
}

fn run(line: &MetricHistory, place: usize) -> &str {
    line.points.get(place).map_or("", |point| point.run.as_str())
}

fn between(line: &MetricHistory, (before, after): (usize, usize)) -> String {
    format!("{} and {}", run(line, before), run(line, after))
}

/// A step, the runs before and after it, and what else changed there.
pub(crate) fn step(line: &MetricHistory, found: &Change) -> String {
    let at = found.place.first_after;
    let range = match found.place.is_certain() {
        true => String::new(),
        false => format!(" (95% range: between {})", between(line, found.place.ends())),
    };
    let head = format!(
        "{} {} between {}{range}: {}",
        line.name,
        direction(line, found.ratio.value),
        between(line, (at.saturating_sub(1), at)),
        changed(found.ratio)
    );
    let head = match &found.commits {
        Some((last, first)) if last == first => {
            format!("{head}, commit {} on both sides, so not a change of the commit", hash(last))
        }
        Some((last, first)) => format!("{head}, commits {}..{}", hash(last), hash(first)),
        None => head,
    };
    match found.environment.as_deref() {
        None => format!("{head}; whether the environment changed there is not recorded."),
        Some([]) => format!("{head}; no recorded property of the environment changed there."),
        Some(all) => {
            format!("{head}; the environment changed there as well, and may be the cause: {}.", named(line, all))
        }
    }
}

fn named(line: &MetricHistory, all: &[ChangedFact]) -> String {
    let word = |found: &ChangedFact| {
        let Difference { what, a, b } = &found.difference;
        // Only settings that differ from their defaults are recorded.
        let none = if matches!(what, What::ServerSetting(_)) { "the default" } else { "nothing" };
        let [a, b] = [a, b].map(|value| if value.is_empty() { none.to_owned() } else { shortened(value) });
        format!("{what} ({a} -> {b} in {})", run(line, found.at))
    };
    let mut words: Vec<String> = all.iter().take(NAMED).map(word).collect();
    words.extend((all.len() > NAMED).then(|| format!("{} more", all.len() - NAMED)));
    list(&words)
}

/// A value in a sentence: flags of a compiler are longer than it.
pub(super) fn shortened(value: &str) -> String {
    match value.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &value[..end]),
        None => value.to_owned(),
    }
}

/// The sentences about one metric, in addition to its table.
pub(crate) fn line(line: &MetricHistory) -> Vec<String> {
    let mut message: Vec<String> = line.changes.iter().map(|found| step(line, found)).collect();
    message.extend(line.drift.map(|drift| {
        format!(
            "{} drifts, {} from the first run to the last: {}; no step explains it.",
            line.name,
            direction(line, drift.ratio.value),
            changed(drift.ratio)
        )
    }));
    message.extend(line.not_tested.map(|why| match why {
        NotTested::TooFewRuns => {
            format!("{}: fewer than 6 runs, too few to detect a change.", count(line.points.len(), "run"))
        }
        NotTested::NotPositive => format!("{} is 0 or below in a run, so it has no ratios.", line.name),
    }));
    if message.is_empty() {
        message.push("No change and no drift is shown; this does not prove that there is none.".to_owned());
    }
    // A segment has at least three runs, so the newest two may be the beginning of one.
    let open = line.points.len().saturating_sub(SHORTEST - 1);
    let far = |range: &[Point]| -> Vec<String> {
        range.iter().filter(|point| point.outlier).map(|point| point.run.clone()).collect()
    };
    let (past, newest) = line.points.split_at(open);
    for (outliers, are_new) in [(far(past), false), (far(newest), true)] {
        let (lie, they, are) = if outliers.len() == 1 { ("lies", "it", "is") } else { ("lie", "they", "are") };
        let left_out = match are_new {
            false => format!("{are} no change and not part of any ratio"),
            true => format!("may begin a change, which takes {SHORTEST} runs to be shown"),
        };
        if !outliers.is_empty() {
            message.push(format!("{} {lie} far from the neighbouring runs: {they} {left_out}.", list(&outliers)));
        }
    }
    message
}

/// The sentences about all metrics together.
pub(crate) fn history(found: &History) -> Vec<String> {
    let order = match found.by_time {
        true => "in the order of their first trials",
        false => "in the order given, because not all have a start time",
    };
    let below = match found.minimum_effect {
        0.0 => String::new(),
        effect => format!("; changes below {} are not shown", small_percent(effect)),
    };
    let tested = format!(
        "{}, {order}. Without a change, at most {:.0}% of histories report one, over {} together{below}.",
        runs(found),
        100.0 * ERROR_RATE,
        count(found.lines.len(), "line"),
    );
    let without = &found.without;
    let none = (!without.is_empty()).then(|| format!("Without a result: {}.", list(without)));
    none.into_iter().chain([tested]).collect()
}

pub(crate) fn history_gate(found: &History, margin: f64) -> Option<String> {
    let margin = small_percent(margin);
    let name = |slower: &Slower| {
        let line = found.lines.get(slower.line)?;
        let since = match slower.since {
            Since::Segment(first) => format!("against the segment from {} on", run(line, first)),
            Since::Drift => "by its drift".to_owned(),
        };
        Some(format!("{} {}, {} {since}", line.condition, line.name, change(slower.ratio - 1.0)))
    };
    Some(match found.gate.as_ref()? {
        Gate::NoResult => "gate not decided: the last run has no result".to_owned(),
        Gate::Lacks(names) => format!("gate not decided: the last run has no result of {}", list(names)),
        Gate::Untested => "gate passed without a test: changes cannot be assessed".to_owned(),
        Gate::Passed => {
            let untested = untested(found);
            format!(
                "gate passed: nothing is shown to be slower now than in an earlier segment by more than {margin}{untested}"
            )
        }
        Gate::Slower(lines) => {
            let named: Vec<String> = lines.iter().filter_map(name).collect();
            format!("gate failed: now slower than before by more than {margin}: {}", list(&named))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::unit::Unit;

    #[test]
    fn a_limit_of_nothing_is_not_said_and_a_small_one_is() {
        let said = |minimum_effect: f64| {
            let gate = Some(Gate::Passed);
            let found = History { lines: Vec::new(), by_time: true, minimum_effect, without: Vec::new(), gate };
            (history(&found).join(" "), history_gate(&found, minimum_effect).unwrap())
        };
        let (text, gate) = said(0.0);
        assert!(text.ends_with("0 lines together.") && gate.contains("by more than 0%"), "{text} {gate}");
        let (text, gate) = said(3e-5);
        assert!(text.contains("changes below 0.003% are") && gate.contains("by more than 0.003%"), "{text} {gate}");
    }

    #[test]
    fn lines_that_were_not_tested_are_none_of_those_without_a_change() {
        let point = |run: &str| Point { run: run.to_owned(), time: None, value: 1.0, outlier: false };
        let with = |not_tested, run| MetricHistory {
            condition: "a".to_owned(),
            name: "tps".to_owned(),
            unit: Unit::Plain,
            better: Better::Higher,
            points: vec![point(run)],
            segments: Vec::new(),
            changes: Vec::new(),
            drift: None,
            not_tested,
        };
        let line = |not_tested| with(not_tested, "first");
        let said = |lines: Vec<MetricHistory>| {
            let found =
                History { lines, by_time: true, minimum_effect: 0.01, without: Vec::new(), gate: Some(Gate::Passed) };
            (history_sentence(&found), history_gate(&found, 0.05).unwrap())
        };
        let (both, gate) = said(vec![line(None), line(Some(NotTested::TooFewRuns))]);
        assert_eq!(both, "No change is shown in 1 run of 1 line; 1 other line cannot be assessed.");
        assert!(gate.ends_with("by more than 5.0%; 1 other line cannot be assessed"), "{gate}");
        let (all, gate) = said(vec![line(None)]);
        let few = Some(NotTested::TooFewRuns);
        let (neither, _) = said(vec![line(few), with(few, "second")]);
        assert_eq!(neither, "Changes in 2 runs cannot be assessed.");
        assert!(all.ends_with(" of 1 line.") && gate.ends_with("by more than 5.0%"), "{all} {gate}");
    }
}
