//! Latency and rows by statement, errors by class: each client counts for itself, and a sample takes the sum.

use crate::workload::sessions::{Latencies, Merge};
use std::collections::BTreeMap;
use std::time::Duration;
use tare_engine::{SqlError, SqlErrorKind};

/// The class of an error that the engine has no code for.
const NO_CODE: &str = "no_code";

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
            _ => error.code.map_or_else(|| NO_CODE.to_owned(), |code| code.to_string()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use tare_engine::{Code, SqlState};

    #[test]
    fn errors_are_counted_by_the_engines_own_code_and_what_is_run_again_together() {
        let mut tally = Tally::new(0);
        let state = |text: &[u8]| SqlState::new(text).map(Code::State);
        for (kind, code) in [
            (SqlErrorKind::Other, state(b"23505")),
            (SqlErrorKind::Other, state(b"22012")),
            (SqlErrorKind::Other, state(b"22012")),
            (SqlErrorKind::Other, Some(Code::Number(1062))),
            (SqlErrorKind::Other, None),
            (SqlErrorKind::Retry, state(b"40001")),
            (SqlErrorKind::Retry, Some(Code::Number(1213))),
        ] {
            tally.error(&SqlError { kind, code, message: "woe".to_owned() });
        }
        let counted: Vec<_> = tally.errors.iter().map(|(class, count)| (class.as_str(), *count)).collect();
        assert_eq!(counted, [("1062", 1), ("22012", 2), ("23505", 1), ("no_code", 1), ("retry", 2)]);
    }
}
