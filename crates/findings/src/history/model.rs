//! What many results say over time, as values.

use crate::differences::Difference;
use std::ops::Range;
use tare_results::metric::Better;
use tare_stats::change_points::Drift;
use tare_stats::{Estimate, Interval};

/// Chance that anything is said of a history in which nothing changes, over all of its lines together.
pub const ERROR_RATE: f64 = 0.05;

#[derive(Debug, Clone, Default)]
pub struct Options {
    pub minimum_effect: f64,
    /// Metrics to look at; when empty, throughputs and query times, or all where there are none.
    pub metrics: Vec<String>,
    pub conditions: Vec<String>,
    /// Gate: the last segment may be slower than the one before by this fraction.
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
    #[error("these are {0} lines of a condition and a metric each")]
    TooMany(usize),
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Point {
    /// The directory or the file, as [`super::Run::name`].
    pub run: String,
    /// Start of its first trial, RFC 3339 in UTC; none where it does not say.
    pub time: Option<String>,
    pub value: f64,
    /// Far from the runs around it, and left out of every ratio.
    pub outlier: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    pub runs: Range<usize>,
    pub mean: f64,
    /// Its 95% interval, as if runs did not resemble their neighbours; none of a single run.
    pub ci: Option<Interval>,
    /// Over the first segment; none for that itself.
    pub against_first: Option<Estimate>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub first_after: usize,
    pub ratio: Estimate,
    pub p_value: f64,
    /// The commits of the last run before and the first run after, where runs have some.
    pub commits: Option<(String, String)>,
    /// What is not the same in the last run before and the first run after.
    pub environment: Vec<Difference>,
}

/// One metric of one condition over all runs that have it.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricHistory {
    /// By this name it is followed from run to run.
    pub condition: String,
    /// As in [`tare_results::metric`], such as `tps`.
    pub name: String,
    /// As [`tare_results::metric::describe`] knows it, `1/s`; empty where the name does not say.
    pub unit: String,
    pub better: Better,
    pub points: Vec<Point>,
    /// Runs between the changes; one where nothing changed.
    pub segments: Vec<Segment>,
    /// Between the segments, in the order of time: one fewer than those.
    pub changes: Vec<Change>,
    /// A trend that no step explains, from the first run to the last.
    pub drift: Option<Drift>,
    pub not_tested: Option<NotTested>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotTested {
    /// Fewer runs than two of the shortest segments.
    TooFewRuns,
    /// A value that is 0 or below has no ratio.
    NotPositive,
}

#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// One a metric and condition, in the order of the last run that has it.
    pub lines: Vec<MetricHistory>,
    /// Whether runs were put in the order of their time; else they are in the order they were named.
    pub by_time: bool,
    /// Changes estimated below this fraction are in no line.
    pub minimum_effect: f64,
    /// The gate's answer, where one was requested: the lines whose last segment is slower by more than that.
    pub slower: Option<Vec<usize>>,
}
