//! Latencies: the distribution of transaction times of a condition, and searches for the highest rate that meets an
//! objective for them.
//!
//! The percentiles of a distribution are over the merged latencies of all trials. They have no intervals; metrics have
//! intervals over trials.

use super::collect::ConditionTrials;
use serde::Serialize;
use std::collections::BTreeSet;
use tare_latency::Latencies;
use tare_results::latencies::part;
use tare_results::search::SearchRecord;

/// Reported percentiles; one is left out if less than one transaction took longer.
const PERCENTILES: [f64; 26] = [
    5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 75.0, 80.0, 85.0, 90.0, 92.5, 95.0, 96.0, 97.0, 98.0, 99.0, 99.5,
    99.75, 99.9, 99.95, 99.975, 99.99, 99.995, 99.999,
];

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Distribution {
    /// `transactions`, or the statement or kind of transaction.
    pub of: String,
    pub count: u64,
    pub trials: usize,
    /// Ascending; the last one is the maximum latency.
    pub percentiles: Vec<Percentile>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Percentile {
    /// In percent; 100 is the maximum.
    pub percentile: f64,
    /// Latency in milliseconds, accurate to 0.1%.
    pub ms: f64,
}

impl Distribution {
    fn new(of: &str, trials: usize, all: &Latencies) -> Option<Self> {
        let count = all.count();
        let known = PERCENTILES.into_iter().filter(|p| (1.0 - p / 100.0) * count as f64 >= 1.0).chain([100.0]);
        let percentiles = known.map(|percentile| Some(Percentile { percentile, ms: all.percentile_ms(percentile)? }));
        Some(Self { of: of.to_owned(), count, trials, percentiles: percentiles.collect::<Option<_>>()? })
    }

    /// The latency of one percentile; none if there are too few transactions for it.
    pub fn at(&self, percentile: f64) -> Option<f64> {
        self.percentiles.iter().find(|point| point.percentile == percentile).map(|point| point.ms)
    }
}

pub(super) fn distribution(condition: &ConditionTrials<'_>) -> Vec<Distribution> {
    let names: BTreeSet<&str> = condition.ok.iter().flat_map(|trial| trial.histogram_names()).collect();
    let found = names.into_iter().filter_map(|name| {
        let (mut all, mut trials) = (Latencies::new(), 0);
        for latencies in condition.ok.iter().filter_map(|trial| trial.latencies(name)) {
            all.merge(&latencies);
            trials += 1;
        }
        Distribution::new(part(name), trials, &all)
    });
    found.collect()
}

/// Minimum number of transactions beyond a percentile for a reliable value: rates found with 20 of them were 3.5% too
/// high on average, with 8 of them 8%.
pub const FEWEST_BEYOND: f64 = 100.0;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchNotes {
    pub condition: String,
    pub searches: usize,
    /// How many searches had fewer than 100 transactions beyond the percentile of the SLO, in the step at the found
    /// rate.
    pub scarce: usize,
    /// The smallest number of transactions beyond the percentile; null if no search recorded it.
    pub fewest_beyond: Option<f64>,
    /// How many searches did not converge: lower rates did not meet the SLO and higher ones did.
    pub without_end: usize,
    /// The range of rates in which these searches did not converge, transactions per second; null if all converged.
    pub bracket_tps: Option<[f64; 2]>,
}

pub(super) fn searches(conditions: &[ConditionTrials<'_>]) -> Vec<SearchNotes> {
    conditions.iter().map(search_of).filter(|notes| notes.scarce + notes.without_end > 0).collect()
}

fn search_of(condition: &ConditionTrials<'_>) -> SearchNotes {
    let all = || condition.ok.iter().flat_map(|trial| &trial.searches).filter(|search| search.found_tps.is_some());
    let beyond = || all().filter_map(|search: &SearchRecord| search.found_step()?.beyond);
    let brackets = || all().filter_map(|search| search.bracket_tps);
    SearchNotes {
        condition: condition.name.to_owned(),
        searches: all().count(),
        scarce: beyond().filter(|beyond| *beyond < FEWEST_BEYOND).count(),
        fewest_beyond: beyond().reduce(f64::min),
        without_end: brackets().count(),
        bracket_tps: brackets().reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_that_no_transaction_exceeds_is_left_out_but_the_longest_is_not() {
        let mut all = Latencies::new();
        (1..=200).for_each(|ms| all.record(ms * 1_000_000));
        let found = Distribution::new("transactions", 1, &all).unwrap();
        assert!((found.at(99.0).unwrap() / 198.0 - 1.0).abs() < 1e-3);
        assert_eq!((found.at(99.9), found.at(100.0)), (None, Some(200.0)));
        assert!(found.percentiles.is_sorted_by(|a, b| a.percentile < b.percentile && a.ms <= b.ms));
        assert!(Distribution::new("transactions", 0, &Latencies::new()).is_none());
    }
}
