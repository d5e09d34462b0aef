//! Findings from many results over time, as values.

use crate::compare;
use crate::differences::Difference;
use std::ops::Range;
use tare_results::metric::Better;
use tare_results::unit::Unit;
use tare_stats::change_points::Drift;
use tare_stats::{Estimate, Interval};

/// The result of the gate.
#[derive(Debug, Clone, PartialEq)]
pub enum Gate {
    /// No line that was tested is now slower than in an earlier segment, or by a drift, by more than the margin.
    Passed,
    /// No line could be tested.
    Untested,
    /// The last run has no value in any line.
    NoResult,
    /// The last run has no value of these conditions, which it was to measure.
    Lacks(Vec<String>),
    /// The lines that are now slower by more than the margin.
    Slower(Vec<Slower>),
}

/// The largest slowdown of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slower {
    pub line: usize,
    /// The level now divided by the one before.
    pub ratio: f64,
    pub since: Since,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// The fastest earlier segment, by its first run.
    Segment(usize),
    /// The first run of the last segment, by a drift.
    Drift,
}

impl Gate {
    /// As scripts see it.
    pub fn outcome(&self) -> compare::Gate {
        match self {
            Self::Passed | Self::Untested => compare::Gate::Passed,
            Self::NoResult | Self::Lacks(_) => compare::Gate::Inconclusive,
            Self::Slower(_) => compare::Gate::Failed,
        }
    }
}

/// Probability of any finding in a history without changes, over all of its lines together.
pub const ERROR_RATE: f64 = 0.05;

#[derive(Debug, Clone, Default)]
pub struct Options {
    pub minimum_effect: f64,
    /// Metrics to examine; if empty, throughputs and query times, or all if there are none.
    pub metrics: Vec<String>,
    pub conditions: Vec<String>,
    /// Gate: the maximum allowed slowdown of the level now compared with any earlier one, as a fraction.
    pub fail_if_slower: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    #[error("no run has {what} `{name}`")]
    Unknown {
        /// `the metric` or `the condition`.
        what: &'static str,
        name: String,
        known: Vec<String>,
    },
    #[error("no run has a usable trial")]
    Nothing,
    #[error("the history has {0} lines (one per condition and metric)")]
    TooMany(usize),
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Point {
    /// The directory or the file, as [`super::Run::name`].
    pub run: String,
    /// Start of its first trial, RFC 3339 in UTC; none if not recorded.
    pub time: Option<String>,
    pub value: f64,
    /// Far from the runs around it, and left out of every ratio.
    pub outlier: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    pub runs: Range<usize>,
    pub mean: f64,
    /// Its 95% interval, assuming independent runs; none for a single run.
    pub ci: Option<Interval>,
    /// Ratio to the first segment; none for the first segment.
    pub against_first: Option<Estimate>,
}

/// The estimated place of a step and its range, as indexes of the first run after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub first_after: usize,
    /// The first and the last index of the 95% range.
    pub earliest: usize,
    pub latest: usize,
}

impl Place {
    /// The last run that is before the step in the whole range, and the first one that is after it.
    pub fn ends(&self) -> (usize, usize) {
        (self.earliest.saturating_sub(1), self.latest)
    }

    pub fn is_certain(&self) -> bool {
        self.earliest == self.latest
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub place: Place,
    pub ratio: Estimate,
    pub p_value: f64,
    /// The commits of the last run before and the first run after the whole range, if recorded.
    pub commits: Option<(String, String)>,
    /// What else changed in the range; none if a run at its ends records no environment.
    pub environment: Option<Vec<ChangedFact>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFact {
    pub difference: Difference,
    /// Index of the first run with the new value.
    pub at: usize,
}

/// One metric of one condition over all runs that have it.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricHistory {
    /// The name that identifies the condition across runs.
    pub condition: String,
    /// As in [`tare_results::metric`], such as `tps`.
    pub name: String,
    /// From [`tare_results::metric::describe`], such as `1/s`; empty if unknown.
    pub unit: Unit,
    pub better: Better,
    pub points: Vec<Point>,
    /// Runs between the changes; a single segment if nothing changed.
    pub segments: Vec<Segment>,
    /// Between the segments, in chronological order: one fewer than segments.
    pub changes: Vec<Change>,
    /// A trend that no step explains, from the first run to the last.
    pub drift: Option<Drift>,
    pub not_tested: Option<NotTested>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NotTested {
    /// Fewer runs than two segments of minimum length.
    TooFewRuns,
    /// A value that is 0 or below has no ratio.
    NotPositive,
}

#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// One per metric and condition, in the order of the last run that has it.
    pub lines: Vec<MetricHistory>,
    /// Whether runs were sorted by time; else they are in the given order.
    pub by_time: bool,
    /// Minimum effect: smaller estimated changes are left out. As a fraction.
    pub minimum_effect: f64,
    /// Runs without a value in any line, in order.
    pub without: Vec<String>,
    /// The result of the gate; none if no limit was given.
    pub gate: Option<Gate>,
}
