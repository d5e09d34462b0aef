//! Tests one line of a history for changes.

use super::environment::changed;
use super::model::{Change, MetricHistory, NotTested, Options, Place, Point, Segment};
use super::run::Run;
use crate::collect;
use crate::confidence::CONFIDENCE;
use tare_results::metric;
use tare_stats::change_points::{self, FEWEST, Found};
use tare_stats::trials::mean_interval;

/// Fixed, so that the same runs always give the same output.
const SEED: u64 = 1;

pub(super) fn of(runs: &[Run], condition: &str, metric: &str, rate: f64, options: &Options) -> MetricHistory {
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
        let (commits, environment) = (commits(&facts, &place), changed(&facts, &place));
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
        unit: described.unit.to_owned(),
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
