//! The common result of the parsers: a client's report and interval lines.

use std::collections::BTreeMap;
use tare_results::metric::{self, Named};

/// The results that a client reports for one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    pub metrics: Vec<(Named, f64)>,
    /// Further figures: errors, reconnects.
    pub covariates: BTreeMap<String, f64>,
    /// Total number of transactions, if the client counts them.
    pub transactions: Option<f64>,
}

/// A line that a client writes every second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Seconds since its start.
    pub second: f64,
    /// Transactions per second since the line before.
    pub tps: f64,
}

/// Latencies in milliseconds, each with its number of transactions.
#[derive(Debug, Default)]
pub struct Latencies(Vec<(f64, u64)>);

impl Latencies {
    pub(crate) fn add(&mut self, ms: f64, count: u64) {
        self.0.push((ms, count));
    }

    /// Percentiles by nearest rank: the latency that this share of transactions does not exceed. Empty without any.
    pub(crate) fn percentiles(&mut self) -> Vec<(Named, f64)> {
        self.0.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all = self.0.iter().fold(0_u64, |all, (_, count)| all.saturating_add(*count));
        if all == 0 {
            return Vec::new();
        }
        let at = |share: f64| {
            let rank = (share * all as f64).ceil() as u64;
            let mut passed = 0_u64;
            let reached = self.0.iter().find(|(_, count)| {
                passed = passed.saturating_add(*count);
                passed >= rank
            });
            reached.or(self.0.last()).map_or(0.0, |(ms, _)| *ms)
        };
        vec![
            (metric::LATENCY_MS_P50, at(0.5)),
            (metric::LATENCY_MS_P90, at(0.9)),
            (metric::LATENCY_MS_P95, at(0.95)),
            (metric::LATENCY_MS_P99, at(0.99)),
            (metric::LATENCY_MS_P99_9, at(0.999)),
        ]
    }
}

/// The first number after `words`, on the same line; None if it is negative or infinite.
pub(crate) fn number_after(text: &str, words: &str) -> Option<f64> {
    let (_, rest) = text.split_once(words)?;
    let digits = rest.trim_start();
    let end =
        digits.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e'))).unwrap_or(digits.len());
    digits[..end].parse().ok().filter(|number| (0.0..f64::INFINITY).contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let mut latencies = Latencies::default();
        (1..=100).rev().for_each(|ms| latencies.add(f64::from(ms), 1));
        let found: Vec<f64> = latencies.percentiles().into_iter().map(|(_, ms)| ms).collect();
        assert_eq!(found, [50.0, 90.0, 95.0, 99.0, 100.0]);
        assert!(Latencies::default().percentiles().is_empty());
        let mut many = Latencies::default();
        (1..=4).for_each(|ms| many.add(f64::from(ms), u64::MAX / 2));
        assert_eq!(many.percentiles().len(), 5, "more than a number holds");
    }

    #[test]
    fn a_negative_or_infinite_figure_is_rejected() {
        let found = ["tps = 5.5 x", "tps = 1e308", "tps = -5", "tps = 1e999", "tps = nan", "tps =", ""];
        let found = found.map(|line| number_after(line, "tps ="));
        assert_eq!(found, [Some(5.5), Some(1e308), None, None, None, None, None]);
    }
}
