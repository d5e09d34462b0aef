//! A complete history: its lines, each tested for changes, with what else changed where a step may be, and the gate
//! over them.

use super::model::{
    Change, ChangedFact, ERROR_RATE, Gate, History, HistoryError, MetricHistory, NotTested, Options, Place, Point,
    Segment, Since, Slower,
};
use super::run::Run;
use crate::collect;
use crate::confidence::CONFIDENCE;
use crate::differences::{self, What};
use std::collections::BTreeSet;
use std::iter::once;
use tare_results::metric::{self, Better};
use tare_stats::change_points::{self, FEWEST, Found};
use tare_stats::trials::mean_interval;

/// A fact that differs between more than this share of all neighbouring runs does not explain a single step.
const RESTLESS: f64 = 0.5;

/// Facts that change from the last run that is before the step to the first one that is after it, at each run where
/// they do: those first that change least often elsewhere, then those nearest to the estimated place. None if one of
/// the two records no facts, as a CSV file; such runs between them are passed over. Facts that change all the time,
/// such as the load average, are left out.
fn changed_environment(runs: &[&Run], place: &Place) -> Option<Vec<ChangedFact>> {
    let within = runs.get(place.earliest.checked_sub(1)?..=place.latest)?;
    if !within.first().is_some_and(|run| records(run)) || !within.last().is_some_and(|run| records(run)) {
        return None;
    }
    let recording: Vec<(usize, &Run)> =
        (place.earliest - 1..).zip(within.iter().copied()).filter(|(_, run)| records(run)).collect();
    let mut weighed: Vec<((usize, usize), ChangedFact)> = Vec::new();
    for two in recording.windows(2) {
        let [(_, before), (at, after)] = two else { continue };
        let found = differences::of_facts(&before.facts, &after.facts);
        for difference in found.into_iter().filter(|difference| !difference.what.is_load()) {
            let times = times_changed(runs, &difference.what);
            if times == 1 || (times as f64) <= RESTLESS * (runs.len() - 1) as f64 {
                let rank = (times, at.abs_diff(place.first_after));
                weighed.push((rank, ChangedFact { difference, at: *at }));
            }
        }
    }
    weighed.sort_by_key(|(rank, _)| *rank);
    Some(weighed.into_iter().map(|(_, fact)| fact).collect())
}

fn records(run: &Run) -> bool {
    run.facts.iter().any(|(_, value)| !value.is_empty())
}

fn times_changed(runs: &[&Run], what: &What) -> usize {
    let value = |run: &Run| run.facts.iter().find(|(name, _)| name == what).map(|(_, value)| value.clone());
    runs.windows(2).filter(|pair| value(pair[0]) != value(pair[1])).count()
}

/// Fixed, so that the same runs always give the same output.
const SEED: u64 = 1;

fn line_of(runs: &[Run], condition: &str, metric: &str, rate: f64, options: &Options) -> MetricHistory {
    let with: Vec<(&Run, f64)> = runs.iter().filter_map(|run| Some((run, run.value(condition, metric)?))).collect();
    let values: Vec<f64> = with.iter().map(|(_, value)| *value).collect();
    let requested = change_points::Options {
        error_rate: rate,
        minimum_effect: options.minimum_effect,
        confidence: CONFIDENCE,
        seed: SEED,
    };
    let found = change_points::find(&values, &requested);
    let not_tested = match &found {
        Err(_) => Some(NotTested::NotPositive),
        Ok(_) if values.len() < FEWEST => Some(NotTested::TooFewRuns),
        Ok(_) => None,
    };
    let found = found.unwrap_or_default();
    let described = metric::describe(metric);
    let facts: Vec<&Run> = with.iter().map(|(run, _)| *run).collect();
    let change = |change: &change_points::ChangePoint| {
        let place = Place { first_after: change.first_after, earliest: change.earliest, latest: change.latest };
        let (commits, environment) = (commits(&facts, &place), changed_environment(&facts, &place));
        Change { place, ratio: change.ratio, p_value: change.p_value, commits, environment }
    };
    let point = |(place, (run, value)): (usize, &(&Run, f64))| Point {
        run: run.name.clone(),
        time: run.time.clone(),
        value: *value,
        outlier: found.outliers.contains(&place),
    };
    MetricHistory {
        condition: condition.to_owned(),
        name: metric.to_owned(),
        unit: described.unit,
        better: described.better,
        points: with.iter().enumerate().map(point).collect(),
        segments: segments(&values, &found),
        changes: found.changes.iter().map(change).collect(),
        drift: found.drift,
        not_tested,
    }
}

/// Commits around the range of a step: of the last run before it and the first run after it that have one.
fn commits(runs: &[&Run], place: &Place) -> Option<(String, String)> {
    let (before, after) = (runs.get(..place.earliest)?, runs.get(place.latest..)?);
    let last = before.iter().rev().find_map(|run| run.commit.clone())?;
    Some((last, after.iter().find_map(|run| run.commit.clone())?))
}

/// Every segment, each also compared with the first one: so that an old step stays visible.
fn segments(values: &[f64], found: &Found) -> Vec<Segment> {
    let all = found.segments(values.len());
    let kept: Vec<Vec<f64>> = all.iter().map(|runs| found.kept(values, runs.clone())).collect();
    let against = |place: usize| {
        let estimate = change_points::of_segments(&kept[0], &kept[place], CONFIDENCE);
        estimate.ok().filter(|_| place > 0)
    };
    let places = all.into_iter().enumerate();
    places
        .map(|(place, runs)| Segment {
            mean: collect::mean(&kept[place]).unwrap_or(0.0),
            ci: mean_interval(&kept[place], CONFIDENCE),
            against_first: against(place),
            runs,
        })
        .collect()
}

/// `lacks`: the conditions without a value in the last run; none if it has no value in any line.
pub(super) fn gate(lines: &[MetricHistory], lacks: Option<Vec<String>>, margin: f64) -> Gate {
    let slower: Vec<Slower> = (0..lines.len()).filter_map(|line| slower(line, &lines[line], margin)).collect();
    match lacks {
        _ if !slower.is_empty() => Gate::Slower(slower),
        None => Gate::NoResult,
        Some(lacks) if !lacks.is_empty() => Gate::Lacks(lacks),
        Some(_) if lines.iter().all(|line| line.not_tested.is_some()) => Gate::Untested,
        Some(_) => Gate::Passed,
    }
}

/// The largest slowdown of a line, if it is beyond `margin`: from its fastest earlier level, which a series of small
/// steps does not move, to the level at its last run. With a drift, the level changes within each segment too.
fn slower(place: usize, line: &MetricHistory, margin: f64) -> Option<Slower> {
    let (last, earlier) = line.segments.split_last()?;
    let runs = line.points.len().saturating_sub(1).max(1) as f64;
    let slope = line.drift.map_or(0.0, |drift| drift.ratio.value.ln() / runs);
    // Half of the drift within a segment.
    let half = |segment: &Segment| slope * segment.runs.len().saturating_sub(1) as f64 / 2.0;
    let now = last.mean.ln() + half(last);
    let ends = earlier.iter().flat_map(|segment| {
        let (level, half, since) = (segment.mean.ln(), half(segment), Since::Segment(segment.runs.start));
        [(level - half, since), (level + half, since)]
    });
    let levels = ends.chain(once((last.mean.ln() - half(last), Since::Drift)));
    let all = levels.map(|(level, since)| Slower { line: place, ratio: (now - level).exp(), since });
    let cost = |found: &Slower| match line.better {
        Better::Higher => -found.ratio,
        Better::Lower => found.ratio,
    };
    let worst = all.filter(|found| found.ratio.is_finite()).max_by(|a, b| cost(a).total_cmp(&cost(b)))?;
    let is_beyond = match line.better {
        Better::Higher => worst.ratio < 1.0 - margin,
        Better::Lower => worst.ratio > 1.0 + margin,
    };
    is_beyond.then_some(worst)
}

/// Maximum number of lines of one history: each is compared with chance over all of them, which takes quadratic time.
pub const MOST_LINES: usize = 500;

/// Searches for changes in every line of the runs, which are in order.
pub fn history(runs: &[Run], by_time: bool, options: &Options) -> Result<History, HistoryError> {
    let chosen = chosen(runs, options)?;
    let rate = ERROR_RATE / chosen.len() as f64;
    let lines: Vec<MetricHistory> =
        chosen.iter().map(|(condition, metric)| line_of(runs, condition, metric, rate, options)).collect();
    let is_without = |run: &&Run| !chosen.iter().any(|(condition, metric)| run.value(condition, metric).is_some());
    let is_requested = |name: &&String| options.conditions.is_empty() || options.conditions.contains(name);
    let lacks = |run: &Run| run.lacks.iter().filter(is_requested).cloned().collect();
    let last = runs.last().filter(|run| !is_without(run)).map(lacks);
    Ok(History {
        gate: options.fail_if_slower.map(|margin| gate(&lines, last, margin)),
        lines,
        by_time,
        minimum_effect: options.minimum_effect,
        without: runs.iter().filter(is_without).map(|run| run.name.clone()).collect(),
    })
}

fn chosen(runs: &[Run], options: &Options) -> Result<Vec<(String, String)>, HistoryError> {
    let mut all: Vec<(String, String)> = Vec::new();
    let mut seen = BTreeSet::new();
    for (condition, metric) in runs.iter().rev().flat_map(Run::names) {
        let key = (condition.to_owned(), metric.to_owned());
        if seen.insert(key.clone()) {
            all.push(key);
        }
    }
    known("the metric", &options.metrics, all.iter().map(|(_, metric)| metric))?;
    known("the condition", &options.conditions, all.iter().map(|(condition, _)| condition))?;
    let primary = all.iter().any(|(_, metric)| metric::describe(metric).is_primary());
    let requested = |metric: &String| match options.metrics.is_empty() {
        true => metric::describe(metric).is_primary() || !primary,
        false => options.metrics.contains(metric),
    };
    all.retain(|(condition, metric)| {
        requested(metric) && (options.conditions.is_empty() || options.conditions.contains(condition))
    });
    match all.len() {
        0 => Err(HistoryError::Nothing),
        many if many > MOST_LINES => Err(HistoryError::TooMany(many)),
        _ => Ok(all),
    }
}

fn known<'a>(
    what: &'static str,
    requested: &[String],
    there: impl Iterator<Item = &'a String>,
) -> Result<(), HistoryError> {
    let there: BTreeSet<&String> = there.collect();
    match requested.iter().find(|name| !there.contains(name)) {
        Some(name) => {
            Err(HistoryError::Unknown { what, name: name.clone(), known: there.into_iter().cloned().collect() })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Point;
    use tare_results::unit::Unit;
    use tare_stats::Estimate;
    use tare_stats::change_points::Drift;

    /// Two segments of 20 runs with these means, and a drift over all runs.
    fn line(better: Better, means: [f64; 2], drift: f64) -> MetricHistory {
        let point = |run: usize| Point { run: format!("run-{run}"), time: None, value: 1.0, outlier: false };
        let segment = |place: usize| Segment {
            runs: 20 * place..20 * (place + 1),
            mean: means[place],
            ci: None,
            against_first: None,
        };
        MetricHistory {
            condition: "base".to_owned(),
            name: "m".to_owned(),
            unit: Unit::Plain,
            better,
            points: (0..40).map(point).collect(),
            segments: [0, 1].map(segment).to_vec(),
            changes: Vec::new(),
            drift: Some(Drift { ratio: Estimate { value: drift, ci: None }, p_value: 0.0 }),
            not_tested: None,
        }
    }

    /// From 100 to 98.5, then from 103.5 to 101.9: the drift is -3%, but since the step only -1.5% was lost.
    #[test]
    fn a_drift_counts_from_the_fastest_level_on() {
        let falling = |better, means: [f64; 2], drift| slower(0, &line(better, means, drift), 0.01);
        let found = falling(Better::Higher, [99.25, 102.7], 0.97).unwrap();
        assert!(found.since == Since::Drift && (found.ratio - 0.9853).abs() < 5e-4, "{found:?}");
        assert_eq!(slower(0, &line(Better::Higher, [99.25, 102.7], 0.97), 0.02), None);
        // The same of times.
        let found = falling(Better::Lower, [1.0 / 99.25, 1.0 / 102.7], 1.0 / 0.97).unwrap();
        assert!(found.since == Since::Drift && (found.ratio - 1.0 / 0.9853).abs() < 5e-4, "{found:?}");
        // A step and a drift add up: the beginning of the first segment was the fastest.
        let found = falling(Better::Higher, [99.25, 97.3], 0.97).unwrap();
        assert!(found.since == Since::Segment(0) && (found.ratio - 0.966).abs() < 1e-3, "{found:?}");
        // A drift to faster values hides no step within itself.
        assert_eq!(falling(Better::Higher, [99.25, 102.7], 1.03), None);
    }
}
