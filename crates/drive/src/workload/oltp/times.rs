//! How long each kind of statement takes, in the capture sample alone: no measured transaction reads a clock for it.

use super::statements::Statement;
use crate::workload::sessions::Merge;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use strum::VariantNames;

/// What is sent around the statements.
const BORDERS: [&str; 2] = ["begin", "commit"];
const KINDS: usize = Statement::VARIANTS.len() + BORDERS.len();

/// One kind of what clients send: each has a time of its own, and so have BEGIN and COMMIT, where commits wait.
#[derive(Debug, Clone, Copy)]
pub(super) enum Timed {
    Begin,
    Statement(Statement),
    Commit,
}

/// The time from sending a statement until its answer was read, by kind.
#[derive(Debug, Clone, Default)]
pub(super) struct StatementTimes {
    is_on: bool,
    took: [Duration; KINDS],
}

impl StatementTimes {
    pub fn start(&mut self) {
        self.is_on = true;
    }

    /// To be given back when the answer is there; none where nothing is timed.
    #[inline]
    pub fn now(&self) -> Option<Instant> {
        self.is_on.then(Instant::now)
    }

    /// Also of a statement that failed: it took its time.
    #[inline]
    pub fn note(&mut self, timed: Timed, began: Option<Instant>) {
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
        self.took.iter_mut().zip(&other.took).for_each(|(sum, other)| *sum += *other);
    }

    fn clear(&mut self) {
        self.took = Default::default();
    }

    fn statements(&self) -> BTreeMap<String, Duration> {
        let names = Statement::VARIANTS.iter().chain(&BORDERS);
        let all = names.zip(self.took).filter(|(_, took)| !took.is_zero());
        all.map(|(name, took)| ((*name).to_owned(), took)).collect()
    }
}
