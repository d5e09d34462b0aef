//! What rounding hides of the trials of conditions: from their samples, because the mean of rounded samples has more
//! digits.

use super::collect::ConditionTrials;
use super::confidence::CONFIDENCE;
use std::collections::HashMap;
use tare_results::rounding;
use tare_stats::ratio::Rounding;
use tare_stats::{Interval, descriptive};

/// What rounding hides of a metric in the trials of each of these conditions, whose samples are rounded alike.
pub(super) fn of<'c, 'r: 'c>(
    conditions: impl IntoIterator<Item = &'c ConditionTrials<'r>>,
    metric: &str,
) -> Vec<Rounding> {
    let samples: Vec<Vec<Vec<f64>>> = conditions.into_iter().map(|own| own.of_trials(metric)).collect();
    rounding::of_sides(metric, &samples)
}

/// The digit to which each metric was rounded in all conditions.
pub(super) fn digits(conditions: &[ConditionTrials<'_>], metrics: &[String]) -> HashMap<String, f64> {
    let of = |metric: &String| {
        let all: Vec<f64> = conditions.iter().flat_map(|own| own.of_trials(metric)).flatten().collect();
        (metric.clone(), rounding::digit(metric, &all))
    };
    metrics.iter().map(of).collect()
}

/// The interval of a mean of trials with these values, rounded to `digit`.
pub(super) fn widened(ci: Option<Interval>, values: &[Vec<f64>], digit: f64) -> Option<Interval> {
    ci.map(|ci| Rounding::of(values.iter().map(Vec::as_slice), digit).widened(ci, values.len(), CONFIDENCE))
}

pub(super) fn of_sides([a, b]: [&ConditionTrials<'_>; 2], metric: &str) -> [Rounding; 2] {
    <[Rounding; 2]>::try_from(of([a, b], metric)).unwrap_or_default()
}

/// What rounding hides of the logarithm of the ratio of two conditions.
pub(super) fn of_logarithm(sides: [&ConditionTrials<'_>; 2], metric: &str) -> Rounding {
    let parts = of_sides(sides, metric).into_iter().zip(sides).map(|(hidden, side)| relative(hidden, side, metric));
    parts.fold(Rounding::default(), Rounding::plus)
}

/// The standard deviation of the rounding error of a trial of each condition, as a part of the condition's mean: the
/// error of its logarithm.
pub(super) fn of_logarithms(conditions: &[ConditionTrials<'_>], metric: &str) -> Vec<f64> {
    let hidden = of(conditions, metric).into_iter().zip(conditions);
    hidden.map(|(hidden, condition)| relative(hidden, condition, metric).error).collect()
}

/// As a part of the condition's mean.
pub(super) fn relative(hidden: Rounding, condition: &ConditionTrials<'_>, metric: &str) -> Rounding {
    if hidden == Rounding::default() {
        return hidden;
    }
    hidden.relative(descriptive::mean(&condition.means(metric)))
}

/// The same of the mean of these metrics' logarithms, whose errors are independent.
pub(super) fn of_mean_logarithm(conditions: &[ConditionTrials<'_>], metrics: &[String]) -> Vec<f64> {
    let mut squares = vec![0.0; conditions.len()];
    for metric in metrics {
        squares.iter_mut().zip(of_logarithms(conditions, metric)).for_each(|(sum, error)| *sum += error * error);
    }
    squares.into_iter().map(|sum| sum.sqrt() / metrics.len().max(1) as f64).collect()
}
