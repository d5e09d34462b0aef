//! To which digit the values of a metric were rounded, and what that hides of trials. The only place that decides it,
//! for comparisons of results, pairs and races.

use crate::latencies::percentile;
use crate::metric;
use tare_stats::descriptive;
use tare_stats::ratio::Rounding;

/// Resolution of the histograms from which percentiles are computed, as a part of the value.
const HISTOGRAM: f64 = 1e-3;

/// The resolution of a percentile in its histogram; none for other metrics.
pub fn of_histogram(metric: &str, values: &[f64]) -> Option<f64> {
    percentile(metric).and_then(|_| descriptive::median(values)).map(|usual| usual.abs() * HISTOGRAM)
}

/// What rounding hides of a metric on each of several sides, by side and trial the values that represent the trial
/// ([`crate::schema::TrialRecord::representing`]), which were rounded alike.
pub fn of_sides(metric: &str, sides: &[Vec<Vec<f64>>]) -> Vec<Rounding> {
    let all: Vec<f64> = sides.iter().flatten().flatten().copied().collect();
    Rounding::alike(sides, of_histogram(metric, &all).unwrap_or(0.0))
}

/// The digit to which all these values of a measured quantity were rounded; 0 if they are not. A count is exact.
pub fn digit(metric: &str, values: &[f64]) -> f64 {
    let least = || of_histogram(metric, values).unwrap_or(0.0);
    if metric::is_count(metric) { 0.0 } else { Rounding::common_digit(values, least()) }
}

/// The same of the logarithm of each side's values.
pub(crate) fn of_logarithms(metric: Option<&str>, sides: &[Vec<Vec<f64>>]) -> Vec<Rounding> {
    let Some(metric) = metric else { return vec![Rounding::default(); sides.len()] };
    let of = |(own, trials): (Rounding, &Vec<Vec<f64>>)| own.relative(descriptive::mean(&trials.concat()));
    of_sides(metric, sides).into_iter().zip(sides).map(of).collect()
}
