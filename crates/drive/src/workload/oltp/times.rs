//! Time of each kind of statement, in the capture sample only: measured transactions read no clock for it.

use super::statements::Statement;
use crate::workload::sessions::{Clock, Merge};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use strum::VariantNames;

/// Kinds in addition to the statements.
const BORDERS: [&str; 2] = ["begin", "commit"];
const KINDS: usize = Statement::VARIANTS.len() + BORDERS.len();

/// A kind of statement. BEGIN and COMMIT are separate kinds, because commits wait.
#[derive(Debug, Clone, Copy)]
pub(super) enum Timed {
    Begin,
    Statement(Statement),
    Commit,
}

/// The time from sending a statement until its answer was read, by kind.
#[derive(Debug, Clone, Default)]
pub(super) struct StatementTimes {
    clock: Clock,
    took: [Duration; KINDS],
}

impl StatementTimes {
    pub(crate) fn start(&mut self) {
        self.clock.start();
    }

    pub(crate) fn stop(&mut self) {
        self.clock.stop();
    }

    /// The start time, to be passed to `note` with the answer; None while timing is off.
    #[inline]
    pub(crate) fn now(&self) -> Option<Instant> {
        self.clock.runs().then(Instant::now)
    }

    /// Adds the time of a statement, including statements that failed.
    #[inline]
    pub(crate) fn note(&mut self, timed: Timed, began: Option<Instant>) {
        let Some(began) = began else { return };
        let kind = match timed {
            Timed::Statement(statement) => statement as usize,
            Timed::Begin => KINDS - 2,
            Timed::Commit => KINDS - 1,
        };
        self.took[kind] += began.elapsed();
    }
}

impl Merge for StatementTimes {
    fn merge(&mut self, other: &Self) {
        self.clock.merge(&other.clock);
        self.took.iter_mut().zip(&other.took).for_each(|(sum, other)| *sum += *other);
    }

    fn clear(&mut self) {
        self.clock.clear();
        self.took = Default::default();
    }

    fn statements(&self) -> BTreeMap<String, f64> {
        let (names, timed) = (Statement::VARIANTS.iter().chain(&BORDERS), self.clock.timed());
        let all = names.zip(self.took).filter(|(_, took)| !took.is_zero());
        all.map(|(name, took)| ((*name).to_owned(), took.div_duration_f64(timed))).collect()
    }
}
