//! What a comparison of two times came to.

use super::changes::Changes;
use super::events::EventChange;
use super::prove::Experiment;
use super::suspect::Suspect;
use crate::compare::CompareError;
use crate::confidence::CONFIDENCE;
use crate::differences::Difference;
use crate::ends;
use crate::lines::LinesSummary;
use crate::summary::{CaptureSummary, Unnamed};
use crate::time::{ConditionTime, Part};
use serde::Serialize;
use std::collections::BTreeMap;
use tare_results::hardware::Hardware;
use tare_stats::Interval;
use tare_stats::ratio::Shift;

pub const SUSPECTS_SHOWN: usize = 5;
/// A suspect that explains less of the difference is not worth the time of an experiment.
const WORTH: f64 = 0.1;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WhyError {
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// More than one condition a side.
    #[error("each side has {} conditions", names.len())]
    Several { names: Vec<String> },
    /// No trial of a side says where its clients' time went.
    #[error("no trial of `{name}` has transactions with watched client threads")]
    NoTime { name: String },
}

/// Conditions that are compared with none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Times {
    pub conditions: Vec<ConditionTime>,
    /// What was captured of them, an entry each that has any.
    pub captures: Vec<CaptureSummary>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Why {
    /// The time of A and of B, with the same locks named.
    pub sides: [ConditionTime; 2],
    /// Whether differences are of trials of the same block.
    pub paired: bool,
    /// Whether both are of one run; else what the time between two runs did is in every difference.
    pub one_run: bool,
    /// In what machine and server of two runs differ; nothing of one run.
    pub made_apart: Vec<Difference>,
    pub difference: TimeChange,
    /// The same without the waits for CPUs that other programs had, where these are worth a word: what A and B differ
    /// in themselves. Suspects are held against it.
    pub undisturbed: Option<TimeChange>,
    pub parts: Vec<PartChange>,
    pub not_explained: PartChange,
    /// The server's functions by their CPU time a transaction.
    pub functions: Changes,
    /// What connections sleep in, by the nearest callers, `caller;callee`: wall-clock time a transaction.
    pub sleeps: Changes,
    /// Statements, or kinds of transactions, by their wall-clock time a transaction.
    pub statements: Changes,
    /// Events of processors and kernel, where every trial of both counted them.
    pub events: Vec<EventChange>,
    /// Cache lines that cores take from each other in A and in B, where accesses to memory were sampled.
    pub lines: [Option<LinesSummary>; 2],
    /// What of the profiles has no name, of the side that has more of it; none where that is little.
    pub unnamed: Option<Unnamed>,
    /// What the machine could have told of its processors, of A or else of B; none where results do not say it.
    pub hardware: Option<Hardware>,
    /// Captures that a trial of either side was to have and has not, with the reason.
    pub missing: BTreeMap<String, String>,
    pub causes: Vec<Cause>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TimeChange {
    /// In microseconds for each transaction.
    pub us: f64,
    /// 95% interval; none with one trial on a side.
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
    /// Whether the trials show a difference, at 95%.
    pub shown: bool,
    /// Chance of such a difference where there is none.
    #[serde(skip)]
    pub p_value: f64,
    /// The smallest difference that four of five such runs would have shown.
    pub smallest_us: Option<f64>,
}

impl TimeChange {
    pub(super) fn of(found: &Shift) -> Self {
        let shown = found.p_value <= 1.0 - CONFIDENCE;
        Self { us: found.value, ci: found.ci, shown, p_value: found.p_value, smallest_us: found.smallest }
    }

    /// What share of it so many microseconds are; none of a difference that may be nothing.
    pub(super) fn share(&self, us: f64) -> Option<f64> {
        self.shown.then(|| us / self.us)
    }
}

impl Why {
    /// What A and B differ in themselves: without what other programs did to them.
    pub fn own(&self) -> TimeChange {
        self.undisturbed.unwrap_or(self.difference)
    }

    pub fn is_worth_a_trial(&self, cause: &Cause) -> bool {
        cause.us.abs() >= WORTH * self.own().us.abs()
    }

    /// The time of a transaction of A and of B that [`Why::own`] is the difference of, microseconds.
    pub fn own_us(&self) -> [f64; 2] {
        self.sides.each_ref().map(|side| {
            let strangers = side.parts.iter().filter(|part| self.undisturbed.is_some() && part.part == Part::Strangers);
            side.us_per_transaction - strangers.map(|part| part.us).sum::<f64>()
        })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartChange {
    #[serde(rename = "name")]
    pub part: Part,
    /// Of A, microseconds a transaction.
    pub a_us: f64,
    pub b_us: f64,
    /// B - A, microseconds a transaction.
    pub us: f64,
    /// 95% interval of it, for this part alone.
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
    /// Share of the difference that is A's and B's own ([`Why::own`]); below 0 where it goes the other way. None where
    /// that is not shown, and none of what other programs took where the difference is without it.
    pub share: Option<f64>,
    /// Chance of such a difference where there is none, adjusted over all parts (false discovery rate).
    pub p_value: f64,
    /// Whether it is shown: that chance is at most 5%.
    pub shown: bool,
    /// The smallest difference that four of five such runs would have shown of this part alone.
    pub smallest_us: Option<f64>,
}

impl PartChange {
    pub(super) fn none(part: Part) -> Self {
        let (a_us, b_us, us) = (0.0, 0.0, 0.0);
        Self { part, a_us, b_us, us, ci: None, share: None, p_value: 1.0, shown: false, smallest_us: None }
    }
}

/// One suspect with its number, and the experiment that would decide.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    pub suspect: Suspect,
    /// Its part of the difference, microseconds a transaction.
    pub us: f64,
    pub ci: Option<Interval>,
    /// Share of the difference; none where that is not shown.
    pub share: Option<f64>,
    /// The condition that it is tried on: the slower of the two.
    pub condition: String,
    /// What is counted of it in A and in B, where it is something else than time: switches, log writes and page faults
    /// per transaction, shares of the server's work and memory, misses among a thousand instructions.
    pub counts: Option<[f64; 2]>,
    /// Whether the trials show it to differ, as they do the whole.
    pub shown: bool,
    /// The command that would decide, and which way it must come out.
    pub prove: Experiment,
}
