//! Latency and rows by statement, errors by class: each client counts for itself, and a sample takes the sum.

use std::collections::BTreeMap;
use std::time::Duration;
use tare_engine::{SqlError, SqlErrorKind};

/// Buckets of a power of two: a percentile is right within 1.6%.
const PARTS: u64 = 64;

/// What one statement took.
#[derive(Debug, Clone, Default)]
pub(super) struct StatementTally {
    pub executions: u64,
    pub rows: u64,
    sum_ns: u64,
    /// Bucket -> executions.
    buckets: BTreeMap<u32, u64>,
}

impl StatementTally {
    pub fn add(&mut self, took: Duration, rows: u64) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).max(1);
        self.executions += 1;
        self.rows += rows;
        self.sum_ns += ns;
        *self.buckets.entry(bucket(ns)).or_default() += 1;
    }

    pub fn mean_ms(&self) -> f64 {
        self.sum_ns as f64 / self.executions.max(1) as f64 / 1e6
    }

    /// What 99% of all executions kept.
    pub fn p99_ms(&self) -> f64 {
        let rank = (self.executions as f64 * 0.99).ceil() as u64;
        let mut passed = 0;
        let reached = self.buckets.iter().find(|(_, count)| {
            passed += *count;
            passed >= rank
        });
        reached.map_or(0.0, |(bucket, _)| middle_ns(*bucket) / 1e6)
    }

    fn merge(&mut self, other: Self) {
        self.executions += other.executions;
        self.rows += other.rows;
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

/// What one client, or all of them, did in a sample.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pub statements: Vec<StatementTally>,
    /// Class of error -> how often.
    pub errors: BTreeMap<String, u64>,
}

impl Tally {
    pub fn new(statements: usize) -> Self {
        Self { statements: vec![StatementTally::default(); statements], errors: BTreeMap::new() }
    }

    pub fn error(&mut self, error: &SqlError) {
        let class = match error.kind {
            SqlErrorKind::Retry => "retry".to_owned(),
            _ => error.code.to_string(),
        };
        *self.errors.entry(class).or_default() += 1;
    }

    pub fn merge(&mut self, other: Self) {
        self.statements.iter_mut().zip(other.statements).for_each(|(sum, other)| sum.merge(other));
        for (class, count) in other.errors {
            *self.errors.entry(class).or_default() += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_right_within_a_bucket() {
        let mut tally = StatementTally::default();
        (1..=1000).for_each(|us| tally.add(Duration::from_micros(us), 2));
        assert_eq!((tally.executions, tally.rows), (1000, 2000));
        assert!((tally.mean_ms() - 0.5005).abs() < 1e-9);
        assert!((tally.p99_ms() / 0.990 - 1.0).abs() < 0.016, "{}", tally.p99_ms());
        for ns in [1, 2, 63, 64, 65, 1 << 40, u64::MAX] {
            assert!((middle_ns(bucket(ns)) / ns as f64 - 1.0).abs() < 0.016, "{ns}");
        }
    }
}
