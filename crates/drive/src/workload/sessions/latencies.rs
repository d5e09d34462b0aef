//! A histogram of times, whose percentiles are right within 1.6%.

use super::tallies::Merge;
use std::collections::BTreeMap;
use std::time::Duration;

/// Buckets of a power of two: a percentile is right within 1.6%.
const PARTS: u64 = 64;

/// How long something took, each time.
#[derive(Debug, Clone, Default)]
pub struct Latencies {
    count: u64,
    sum_ns: u64,
    /// Bucket -> how often.
    buckets: BTreeMap<u32, u64>,
}

impl Latencies {
    /// Once more, as long as this.
    pub fn add(&mut self, took: Duration) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).max(1);
        self.count += 1;
        self.sum_ns += ns;
        *self.buckets.entry(bucket(ns)).or_default() += 1;
    }

    /// How many were added in all.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The arithmetic mean, milliseconds; 0 of nothing.
    pub fn mean_ms(&self) -> f64 {
        self.sum_ns as f64 / self.count.max(1) as f64 / 1e6
    }

    /// What this share of all kept, milliseconds; 0 of nothing.
    pub fn percentile_ms(&self, share: f64) -> f64 {
        let rank = (self.count as f64 * share).ceil() as u64;
        let mut passed = 0;
        let reached = self.buckets.iter().find(|(_, count)| {
            passed += *count;
            passed >= rank
        });
        reached.map_or(0.0, |(bucket, _)| middle_ns(*bucket) / 1e6)
    }
}

impl Merge for Latencies {
    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        for (bucket, count) in other.buckets {
            *self.buckets.entry(bucket).or_default() += count;
        }
    }
}

fn bucket(ns: u64) -> u32 {
    let power = ns.ilog2();
    let part = if power >= 6 { (ns >> (power - 6)) - PARTS } else { (ns << (6 - power)) - PARTS };
    power * PARTS as u32 + part as u32
}

fn middle_ns(bucket: u32) -> f64 {
    let (power, part) = (bucket / PARTS as u32, bucket % PARTS as u32);
    2_f64.powi(power.cast_signed()) * (1.0 + (f64::from(part) + 0.5) / PARTS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_right_within_a_bucket() {
        let mut latencies = Latencies::default();
        (1..=1000).for_each(|us| latencies.add(Duration::from_micros(us)));
        assert_eq!(latencies.count(), 1000);
        assert!((latencies.mean_ms() - 0.5005).abs() < 1e-9);
        for (share, expected) in [(0.5, 0.5), (0.95, 0.95), (0.99, 0.99), (1.0, 1.0)] {
            let found = latencies.percentile_ms(share);
            assert!((found / expected - 1.0).abs() < 0.016, "{share}: {found}");
        }
        for ns in [1, 2, 63, 64, 65, 1 << 40, u64::MAX] {
            assert!((middle_ns(bucket(ns)) / ns as f64 - 1.0).abs() < 0.016, "{ns}");
        }
    }
}
