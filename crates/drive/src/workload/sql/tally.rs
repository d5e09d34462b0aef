//! Latency and rows by statement, errors by class: each client counts its own, and a sample adds them up.

use crate::workload::sessions::{Clock, Merge};
use std::collections::BTreeMap;
use std::time::Duration;
use tare_engine::{SqlError, SqlErrorKind};
use tare_load::Latencies;
use tare_results::steps::RETRY;

/// The class of an error without a code of the engine.
const NO_CODE: &str = "no_code";
/// Limit of error classes counted separately: a server may return a new code with every answer.
const MOST_CLASSES: usize = 1_000;
/// The class of all others.
const FURTHER: &str = "further";

#[derive(Debug, Clone, Default)]
pub(super) struct StatementTally {
    pub took: Latencies,
    pub rows: u64,
}

impl StatementTally {
    pub(crate) fn add(&mut self, took: Duration, rows: u64) {
        self.took.record(took.as_nanos() as u64);
        self.rows += rows;
    }
}

/// The counts of one client, or of all clients, in a sample.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pub statements: Vec<StatementTally>,
    pub errors: BTreeMap<String, u64>,
    pub clock: Clock,
}

impl Tally {
    pub(crate) fn new(statements: usize) -> Self {
        Self { statements: vec![StatementTally::default(); statements], ..Self::default() }
    }

    pub(crate) fn error(&mut self, error: &SqlError) {
        let class = match error.kind {
            SqlErrorKind::Retry => RETRY.to_owned(),
            _ => error.code.map_or_else(|| NO_CODE.to_owned(), |code| code.to_string()),
        };
        self.add_errors(&class, 1);
    }

    fn add_errors(&mut self, class: &str, count: u64) {
        let is_apart = self.errors.contains_key(class) || self.errors.len() < MOST_CLASSES;
        *self.errors.entry(if is_apart { class } else { FURTHER }.to_owned()).or_default() += count;
    }
}

impl Merge for Tally {
    fn merge(&mut self, other: &Self) {
        for (sum, other) in self.statements.iter_mut().zip(&other.statements) {
            sum.took.merge(&other.took);
            sum.rows += other.rows;
        }
        for (class, count) in &other.errors {
            self.add_errors(class, *count);
        }
        self.clock.merge(&other.clock);
    }

    fn clear(&mut self) {
        for statement in &mut self.statements {
            statement.took.clear();
            statement.rows = 0;
        }
        self.errors.clear();
        self.clock.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::sessions::Tallies;
    use tare_engine::{Code, SqlState};

    #[test]
    fn errors_beyond_a_thousand_classes_are_counted_together() {
        let mut all = Tally::new(0);
        for part in 0..3 {
            let mut one = Tally::new(0);
            (0..600).for_each(|code| one.add_errors(&format!("{part}{code:03}"), 1));
            all.merge(&one);
        }
        assert_eq!((all.errors.len(), all.errors[FURTHER]), (MOST_CLASSES + 1, 800));
        assert_eq!(all.errors.values().sum::<u64>(), 1800);
    }

    #[test]
    fn a_sample_has_the_percentiles_of_all_clients_within_a_thousandth() {
        let tallies = Tallies::new(Tally::new(1));
        let mut clients = [tallies.empty(), tallies.empty()];
        for sample in 0..2_u64 {
            for us in 1..=1000_u64 {
                let took = Duration::from_micros(us << sample);
                clients[us as usize % 2].statements[0].add(took, 1);
            }
            clients.iter_mut().for_each(|client| tallies.hand_over(sample as usize, client));
        }
        let samples = tallies.take(2);
        for (sample, counted) in samples.iter().enumerate() {
            let StatementTally { took, rows } = &counted.statements[0];
            assert_eq!((took.count(), *rows), (1000, 1000), "sample {sample}");
            for percentile in [50.0, 95.0, 99.0] {
                let expected = percentile / 100.0 * f64::from(1_u32 << sample);
                let found = took.percentile_ms(percentile).unwrap();
                assert!((found / expected - 1.0).abs() < 1e-3, "p{percentile}: {found} of {expected}");
            }
        }
    }

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
