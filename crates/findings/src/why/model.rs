//! Results of a comparison of two transaction times.

use super::prove::{Again, Experiment};
use super::suspect::Suspect;
use super::trials::{Changes, EventChange};
use crate::captures::{CaptureSummary, Unnamed};
use crate::compare::{CompareError, JoinedBy};
use crate::confidence::{self, CONFIDENCE};
use crate::differences::Difference;
use crate::lines::LinesSummary;
use crate::time::{ConditionTime, Part};
use serde::Serialize;
use std::collections::BTreeMap;
use tare_results::events::Hardware;
use tare_stats::Interval;
use tare_stats::ratio::Shift;

pub const SUSPECTS_SHOWN: usize = 5;
/// Minimum share of the difference for which a suspect is worth an experiment.
const WORTH: f64 = 0.1;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WhyError {
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// More than one condition per side.
    #[error("each side has {} conditions", names.len())]
    Several { names: Vec<String> },
    /// Every trial of a side failed or was set aside.
    #[error("no trial of `{name}` has a result")]
    NoResult { name: String },
    /// No trial of a side recorded where its clients' time went.
    #[error("no trial of `{name}` has transactions with observed client threads")]
    NoTime { name: String },
}

/// Conditions that are not compared with others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Times {
    pub conditions: Vec<ConditionTime>,
    /// Names of the conditions without a trial that has a result, which are missing in `conditions`.
    pub lost: Vec<String>,
    /// The captures of each condition that has any.
    pub captures: Vec<CaptureSummary>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Why {
    /// The time of A and of B, with the same locks named.
    pub sides: [ConditionTime; 2],
    /// Number of trials of A and of B that gave no result.
    pub lost: [usize; 2],
    /// Whether differences are between trials of the same block.
    pub paired: bool,
    /// Whether both are from one run; else every difference includes changes between the two runs.
    pub one_run: bool,
    /// The factor that puts both into one study.
    pub joined_by: JoinedBy,
    /// Differences of machine, server, load and version of tare between two runs; empty for one run.
    pub made_apart: Vec<Difference>,
    pub difference: TimeChange,
    /// The difference without waits for CPUs that other programs used, if these are large enough to report. Suspects
    /// are compared with it.
    pub undisturbed: Option<TimeChange>,
    pub parts: Vec<PartChange>,
    pub not_explained: PartChange,
    pub functions: Changes,
    /// Functions that connections sleep in, by their nearest callers, `caller;callee`: wall-clock time per transaction.
    pub sleeps: Changes,
    /// Statements, or kinds of transactions, by their wall-clock time per transaction.
    pub statements: Changes,
    /// Events of processors and kernel, if every trial of both sides counted them.
    pub events: Vec<EventChange>,
    /// Contended cache lines in A and in B, if memory accesses were sampled.
    pub lines: [Option<LinesSummary>; 2],
    /// The part of a profile without names, of the side that has more of it; none if it is small.
    pub unnamed: Option<Unnamed>,
    /// The hardware counters that the machine supports, of A or else of B; none if the results lack them.
    pub hardware: Option<Hardware>,
    /// Captures that are missing in a trial of either side, with the reason.
    pub missing: BTreeMap<String, String>,
    pub causes: Vec<Cause>,
    /// The run that measures both again; none if two runs cannot be joined by one factor.
    pub again: Option<Again>,
    /// The captures that would name more of the slower side's waits.
    pub captures: Experiment,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TimeChange {
    /// In microseconds per transaction.
    pub us: f64,
    /// 95% interval; none if a side has a single trial.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    /// Whether the trials show a difference, at 95%.
    pub shown: bool,
    /// Probability of such a difference if there is none.
    #[serde(skip)]
    pub p_value: f64,
    /// The smallest difference detectable with 80% power.
    pub smallest_us: Option<f64>,
}

impl TimeChange {
    pub(super) fn of(found: &Shift) -> Self {
        let shown = found.p_value <= 1.0 - CONFIDENCE;
        Self { us: found.value, ci: found.ci, shown, p_value: found.p_value, smallest_us: found.smallest }
    }

    /// `us` as a share of the difference; none if no difference is shown.
    pub(super) fn share(&self, us: f64) -> Option<f64> {
        self.shown.then(|| us / self.us)
    }
}

impl Why {
    /// The difference between A and B themselves: without the effect of other programs.
    pub fn own(&self) -> TimeChange {
        self.undisturbed.unwrap_or(self.difference)
    }

    pub fn is_worth_a_trial(&self, cause: &Cause) -> bool {
        cause.us.abs() >= WORTH * self.own().us.abs()
    }

    /// The times of A and B per transaction whose difference is [`Why::own`], microseconds.
    pub fn own_us(&self) -> [f64; 2] {
        self.sides.each_ref().map(|side| {
            let strangers =
                side.parts.iter().filter(|part| self.undisturbed.is_some() && part.part == Part::OtherPrograms);
            side.us_per_transaction - strangers.map(|part| part.us).sum::<f64>()
        })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartChange {
    #[serde(rename = "name")]
    pub part: Part,
    /// Of A, microseconds per transaction.
    pub a_us: f64,
    pub b_us: f64,
    /// B - A, microseconds per transaction.
    pub us: f64,
    /// 95% interval for this part alone.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    /// Share of the own difference of A and B ([`Why::own`]); negative if it has the opposite sign. None if that
    /// difference is not shown, and none for the time of other programs if the own difference excludes it.
    pub share: Option<f64>,
    /// Probability of such a difference if there is none, adjusted over all parts (false discovery rate).
    pub p_value: f64,
    /// Whether it is shown: the adjusted p-value is at most 5%.
    pub shown: bool,
    /// The smallest difference detectable with 80% power, for this part alone.
    pub smallest_us: Option<f64>,
}

impl PartChange {
    pub(super) fn none(part: Part) -> Self {
        let (a_us, b_us, us) = (0.0, 0.0, 0.0);
        Self { part, a_us, b_us, us, ci: None, share: None, p_value: 1.0, shown: false, smallest_us: None }
    }
}

/// One suspect with its part of the difference, and the experiment that would decide about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    pub suspect: Suspect,
    /// Its part of the difference, microseconds per transaction.
    pub us: f64,
    pub ci: Option<Interval>,
    /// Share of the difference; none if no difference is shown.
    pub share: Option<f64>,
    /// The condition for the experiment: the slower of the two.
    pub condition: String,
    /// Counts in A and in B for suspects that have other evidence than time: switches, log writes and page faults per
    /// transaction, shares of the server's work and memory, misses per thousand instructions.
    pub counts: Option<[f64; 2]>,
    /// Whether the trials show a difference of the suspect and of the whole.
    pub shown: bool,
    /// The command that would decide, with the expected result.
    pub prove: Experiment,
}
