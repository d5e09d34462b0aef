//! Latency and rows by statement, errors by class: each client counts for itself, and a sample takes the sum.

use crate::workload::sessions::{Latencies, Merge};
use std::collections::BTreeMap;
use std::time::Duration;
use tare_engine::{SqlError, SqlErrorKind};

/// What one statement took.
#[derive(Debug, Clone, Default)]
pub(super) struct StatementTally {
    pub took: Latencies,
    pub rows: u64,
}

impl StatementTally {
    pub fn add(&mut self, took: Duration, rows: u64) {
        self.took.add(took);
        self.rows += rows;
    }
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
}

impl Merge for Tally {
    fn merge(&mut self, other: Self) {
        for (sum, other) in self.statements.iter_mut().zip(other.statements) {
            sum.took.merge(other.took);
            sum.rows += other.rows;
        }
        for (class, count) in other.errors {
            *self.errors.entry(class).or_default() += count;
        }
    }
}
