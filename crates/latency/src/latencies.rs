//! The histogram, with what it cannot say exactly alongside it.

use hdrhistogram::Histogram;

/// Latencies above an hour are counted as an hour in the histogram; the maximum stays exact.
pub(crate) const HIGHEST_NS: u64 = 3_600_000_000_000;
/// Three significant digits: percentiles within 0.1%.
pub(crate) const DIGITS: u8 = 3;

/// How long each of many transactions took: the count and, of what was recorded here, minimum, mean and maximum are
/// exact, percentiles are within 0.1%.
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
    /// None yet. It takes memory as longer ones come: 16 KB for those below 2 us, 8 KB more for each doubling.
    pub fn new() -> Self {
        #[expect(clippy::expect_used, reason = "the library accepts this constant")]
        let histogram = Histogram::new(DIGITS).expect("a known number of digits");
        Self::of(histogram)
    }

    /// None yet, with all the memory that it will ever need (270 KB), touched: no page fault falls into what is timed.
    pub fn reserved() -> Self {
        #[expect(clippy::expect_used, reason = "the library accepts these constants")]
        let mut histogram = Histogram::new_with_bounds(1, HIGHEST_NS, DIGITS).expect("valid bounds");
        histogram.reset();
        Self::of(histogram)
    }

    fn of(histogram: Histogram<u64>) -> Self {
        Self { histogram, min_ns: u64::MAX, max_ns: 0, sum_ns: 0 }
    }

    /// From a histogram that was written: its ends and its mean are those of buckets.
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

    /// Once more, so many nanoseconds.
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

    /// Takes in those of another thread, sample or trial; its memory grows to hold them.
    pub fn merge(&mut self, other: &Self) {
        if self.histogram.add(&other.histogram).is_err() {
            other.buckets().for_each(|(ns, count)| self.count_in(ns, count));
        }
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
    }

    /// Forgets all, and keeps the memory.
    pub fn clear(&mut self) {
        self.histogram.reset();
        (self.min_ns, self.max_ns, self.sum_ns) = (u64::MAX, 0, 0);
    }

    /// These, of which the longest is known to be this one, milliseconds: what was written knows its bucket only.
    #[must_use]
    pub fn with_longest_ms(mut self, longest_ms: f64) -> Self {
        let ns = (longest_ms * 1e6).round() as u64;
        if self.count() > 0 && ns > 0 {
            self.max_ns = ns;
            self.min_ns = self.min_ns.min(ns);
        }
        self
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Ends of buckets in nanoseconds, ascending, and how many fell into each; empty buckets are left out.
    fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        self.histogram.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value()))
    }

    /// Length in milliseconds and how many there were, ascending; lengths that did not occur are left out.
    pub fn each(&self) -> impl Iterator<Item = (f64, u64)> {
        self.buckets().map(|(ns, count)| (ns as f64 / 1e6, count))
    }

    /// The latency that so many percent kept, milliseconds; none without any.
    pub fn percentile_ms(&self, percentile: f64) -> Option<f64> {
        // The histogram gives the upper end of a bucket, which may lie beyond the exact maximum. What is longer than it
        // knows is in its last bucket.
        (self.count() > 0).then(|| match percentile {
            all if all >= 100.0 => self.max_ns as f64 / 1e6,
            part => {
                // 99.9 / 100 is more than 0.999, which may be the rank of the next one.
                let quantile = (part * 1e6).round() / 1e8;
                let ns = self.histogram.value_at_quantile(quantile);
                ns.clamp(self.min_ns, self.max_ns) as f64 / 1e6
            }
        })
    }

    /// The arithmetic mean, milliseconds; none without any.
    pub fn mean_ms(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum_ns as f64 / self.count() as f64 / 1e6)
    }

    /// The shortest, milliseconds; none without any.
    pub fn min_ms(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.min_ns as f64 / 1e6)
    }

    /// The longest, milliseconds; none without any.
    pub fn max_ms(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.max_ns as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rank of p99.9 of a whole number of thousands is a whole number too.
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
        // Evenly in the logarithm, from a microsecond to ten seconds; each part of its own memory.
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
