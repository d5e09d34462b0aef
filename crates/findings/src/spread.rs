//! Spread of one condition: variance components of a metric, and the columns of the stability article's table over all
//! metrics.

use super::condition::{Components, MetricSummary, Spread};
use tare_results::metric;
use tare_stats::Trials;
use tare_stats::components::of_trials;
use tare_stats::trials::average_and_largest;

/// Variance components of nested samples (outer = trials); none with fewer than two trials or a mean of 0.
pub(super) fn components(trials: &[Vec<f64>]) -> Option<Components> {
    let covs = of_trials(Trials::new(trials).ok()?).ok()?.covs()?;
    match covs.as_slice() {
        [within, between] => {
            let repeated = trials.iter().any(|samples| samples.len() > 1);
            Some(Components { within_cov: repeated.then_some(*within), between_cov: *between })
        }
        _ => None,
    }
}

/// The article's measure of one metric: (max - min) / min of the trial means. None with fewer than two trials.
fn range(metric: &MetricSummary) -> Option<f64> {
    let range = (metric.max - metric.min) / metric.min;
    (metric.trials > 1 && metric.min > 0.0 && range.is_finite()).then_some(range)
}

pub(super) fn of(metrics: &[MetricSummary]) -> Option<Spread> {
    let primary: Vec<(&MetricSummary, f64, f64)> = metrics
        .iter()
        .filter(|metric| metric::describe(&metric.name).is_primary())
        .filter_map(|metric| Some((metric, range(metric)?, metric.between_cov?)))
        .collect();
    let ranges: Vec<f64> = primary.iter().map(|(_, range, _)| *range).collect();
    let between: Vec<f64> = primary.iter().map(|(.., cov)| *cov).collect();
    let within: Vec<f64> = primary.iter().filter_map(|(metric, ..)| metric.within_cov).collect();
    let (range_average, range_largest) = average_and_largest(&ranges)?;
    let (between_cov_average, between_cov_largest) = average_and_largest(&between)?;
    let within = average_and_largest(&within);
    let largest = primary.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(Spread {
        metrics: primary.len(),
        range_average,
        range_largest,
        range_largest_metric: largest.0.name.clone(),
        between_cov_average,
        between_cov_largest,
        within_cov_average: within.map(|within| within.0),
        within_cov_largest: within.map(|within| within.1),
    })
}
