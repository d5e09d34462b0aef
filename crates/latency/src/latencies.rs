//! The histogram, with exact minimum, maximum and sum alongside.

use hdrhistogram::Histogram;

/// One hour. The histogram counts longer latencies as one hour; the maximum stays exact.
pub(crate) const HIGHEST_NS: u64 = 3_600_000_000_000;
/// Three significant digits: percentiles within 0.1%.
pub(crate) const DIGITS: u8 = 3;

/// Latencies of many transactions. The count is exact, percentiles are within 0.1%. Minimum, mean and maximum are exact
/// for recorded latencies, and within 0.1% for decoded ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Latencies {
    histogram: Histogram<u64>,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
}

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

impl Latencies {
    /// An empty histogram. Its memory grows with the longest latency: 16 KB below 2 us, 8 KB more for each doubling.
    pub fn new() -> Self {
        #[expect(clippy::expect_used, reason = "the library accepts this constant")]
        let histogram = Histogram::new(DIGITS).expect("a known number of digits");
        Self::of(histogram)
    }

    /// An empty histogram with all the memory that it will ever need (270 KB), allocated and touched: no page fault
    /// then occurs while latencies are measured.
    pub fn reserved() -> Self {
        #[expect(clippy::expect_used, reason = "the library accepts these constants")]
        let mut histogram = Histogram::new_with_bounds(1, HIGHEST_NS, DIGITS).expect("valid bounds");
        histogram.reset();
        Self::of(histogram)
    }

    fn of(histogram: Histogram<u64>) -> Self {
        Self { histogram, min_ns: u64::MAX, max_ns: 0, sum_ns: 0 }
    }

    /// From a decoded histogram: minimum, maximum and mean are computed from its buckets.
    pub(crate) fn of_read(histogram: Histogram<u64>) -> Self {
        if histogram.is_empty() {
            return Self::new();
        }
        let (min_ns, max_ns) = (histogram.min(), histogram.max());
        let sum_ns = (histogram.mean() * histogram.len() as f64) as u128;
        Self { histogram, min_ns, max_ns, sum_ns }
    }

    pub(crate) fn histogram(&self) -> &Histogram<u64> {
        &self.histogram
    }

    /// Records one latency of `ns` nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.count_in(ns, 1);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.sum_ns += u128::from(ns);
    }

    #[inline]
    fn count_in(&mut self, ns: u64, times: u64) {
        let ns = ns.min(HIGHEST_NS);
        if self.histogram.record_n(ns, times).is_err() {
            self.histogram.saturating_record_n(ns, times);
        }
    }

    /// Adds the latencies of another thread, sample or trial; the memory grows as needed.
    pub fn merge(&mut self, other: &Self) {
        if self.histogram.add(&other.histogram).is_err() {
            other.buckets().for_each(|(ns, count)| self.count_in(ns, count));
        }
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
    }

    /// Removes all latencies and keeps the memory.
    pub fn clear(&mut self) {
        self.histogram.reset();
        (self.min_ns, self.max_ns, self.sum_ns) = (u64::MAX, 0, 0);
    }

    /// Sets the exact maximum, milliseconds, of a decoded histogram, which only knows the maximum's bucket.
    #[must_use]
    pub fn with_longest_ms(mut self, longest_ms: f64) -> Self {
        let ns = (longest_ms * 1e6).round() as u64;
        if self.count() > 0 && ns > 0 {
            self.max_ns = ns;
            self.min_ns = self.min_ns.min(ns);
        }
        self
    }

    /// The number of recorded latencies.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Upper ends of buckets in nanoseconds, ascending, each with its count; empty buckets are left out.
    fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        self.histogram.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value()))
    }

    /// Latency in milliseconds (upper end of its bucket) and count, ascending; empty buckets are left out.
    pub fn each(&self) -> impl Iterator<Item = (f64, u64)> {
        self.buckets().map(|(ns, count)| (ns as f64 / 1e6, count))
    }

    /// The latency, milliseconds, that this percentage of transactions did not exceed; `None` if there are none.
    pub fn percentile_ms(&self, percentile: f64) -> Option<f64> {
        // The histogram returns the upper end of a bucket, which may exceed the exact maximum. Latencies above its
        // range are in its last bucket.
        (self.count() > 0).then(|| match percentile {
            all if all >= 100.0 => self.max_ns as f64 / 1e6,
            part => {
                // 99.9 / 100 is slightly more than 0.999, which could select the next rank.
                let quantile = (part * 1e6).round() / 1e8;
                let ns = self.histogram.value_at_quantile(quantile);
                ns.clamp(self.min_ns, self.max_ns) as f64 / 1e6
            }
        })
    }

    /// The arithmetic mean, milliseconds; `None` if there are no latencies.
    pub fn mean_ms(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum_ns as f64 / self.count() as f64 / 1e6)
    }

    /// The shortest latency, milliseconds; `None` if there are none.
    pub fn min_ms(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.min_ns as f64 / 1e6)
    }

    /// The longest latency, milliseconds; `None` if there are none.
    pub fn max_ms(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.max_ns as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a multiple of 1000 latencies, the rank of p99.9 is a whole number.
    #[test]
    fn a_percentile_is_of_its_own_rank_and_not_of_the_next() {
        for thousands in 1..=12u64 {
            let mut latencies = Latencies::new();
            (0..999 * thousands).for_each(|_| latencies.record(1_000_000));
            (0..thousands).for_each(|_| latencies.record(5_000_000));
            let found = latencies.percentile_ms(99.9).unwrap();
            assert!((found - 1.0).abs() < 0.01, "{found} ms of {thousands} thousand");
            assert!(latencies.percentile_ms(99.95).unwrap() > 4.9);
        }
    }

    #[test]
    fn percentiles_of_merged_parts_are_those_of_all_within_a_thousandth() {
        // Log-uniform from 1 us to 10 s; each part in a histogram of its own.
        let all: Vec<u64> = (0..30_000).map(|i| 10f64.powf(3.0 + 7.0 * f64::from(i) / 30_000.0) as u64).collect();
        let mut merged = Latencies::new();
        for part in 0..3 {
            let mut latencies = if part == 1 { Latencies::reserved() } else { Latencies::new() };
            all.iter().skip(part).step_by(3).for_each(|ns| latencies.record(*ns));
            merged.merge(&latencies);
        }
        assert_eq!(merged.count(), 30_000);
        for percentile in [1.0, 50.0, 95.0, 99.0, 99.9] {
            let exact: f64 = all[(percentile / 100.0 * all.len() as f64).ceil() as usize - 1] as f64 / 1e6;
            let found = merged.percentile_ms(percentile).unwrap();
            assert!((found / exact - 1.0).abs() < 1.1e-3, "p{percentile}: {found} of {exact}");
        }
        assert_eq!(merged.max_ms(), Some(*all.last().unwrap() as f64 / 1e6));
        assert_eq!(merged.percentile_ms(100.0), merged.max_ms());
        assert_eq!(merged.min_ms(), Some(all[0] as f64 / 1e6));
        let mean = all.iter().map(|ns| *ns as f64).sum::<f64>() / 30_000.0 / 1e6;
        assert!((merged.mean_ms().unwrap() / mean - 1.0).abs() < 1e-9);
    }

    #[test]
    fn one_latency_is_every_figure_exactly_and_none_has_no_figure() {
        let mut latencies = Latencies::new();
        assert_eq!((latencies.mean_ms(), latencies.percentile_ms(50.0), latencies.max_ms()), (None, None, None));
        latencies.record(1_234_567);
        let figures = [latencies.min_ms(), latencies.mean_ms(), latencies.percentile_ms(50.0), latencies.max_ms()];
        assert_eq!(figures, [Some(1.234_567); 4]);
        latencies.clear();
        assert_eq!((latencies.count(), latencies.max_ms()), (0, None));
    }

    #[test]
    fn what_is_longer_than_the_histogram_keeps_its_exact_maximum() {
        for mut latencies in [Latencies::new(), Latencies::reserved()] {
            latencies.record(2 * HIGHEST_NS);
            latencies.record(0);
            assert_eq!((latencies.min_ms(), latencies.max_ms()), (Some(0.0), Some(2.0 * HIGHEST_NS as f64 / 1e6)));
        }
    }
}
