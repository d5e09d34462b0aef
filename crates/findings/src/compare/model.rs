//! Inputs of a comparison, and its results for a metric or for two conditions.

use crate::confidence;
use crate::mode::Mode;
use serde::{Serialize, Serializer};
use std::fmt;
use tare_results::Results;
use tare_results::metric::Better;
use tare_results::probe::Probe;
use tare_results::unit::Unit;
use tare_stats::ratio::Verdict;
use tare_stats::{Estimate, Interval};

#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Minimum effect, as a fraction: smaller changes count as equal.
    pub min_effect: f64,
    /// Gate: largest slowdown that passes, as a fraction. None means no gate.
    pub fail_if_slower: Option<f64>,
    /// Metrics that the gate judges; if empty, every primary one, or every one if none is primary.
    pub judged: Vec<String>,
}

/// One side: all conditions of a set of results, or a selection.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    pub results: &'a Results,
    /// Selects conditions by a full name or by some levels (`aslr=on`), which may match several; none selects all.
    pub condition: Option<&'a str>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    #[error("there is no condition `{name}`")]
    NoCondition { name: String, known: Vec<String> },
    /// Several conditions per side, without a common name.
    #[error("no condition has the same name on both sides")]
    NothingShared { a: Vec<String>, b: Vec<String> },
    /// Results are compared with themselves or with a copy, or a session is named twice.
    #[error("{what} have the same trials, those of {results}")]
    SameTrials { what: &'static str, results: String },
    #[error("no metric was measured on both sides")]
    NoMetric,
    #[error("metric `{name}` was not measured on both sides")]
    NoSuchMetric { name: String, known: Vec<String> },
}

impl CompareError {
    pub(crate) fn same_trials(what: &'static str, a: Side<'_>, b: Side<'_>) -> Self {
        let (a, b) = (a.results.path.display().to_string(), b.results.path.display().to_string());
        Self::SameTrials { what, results: if a == b { a } else { format!("{a} and of {b}") } }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricComparison {
    pub name: String,
    pub condition: ConditionPair,
    pub unit: Unit,
    pub better: Better,
    pub mean_a: f64,
    pub mean_b: f64,
    /// Modes of the trials of A, in ascending order; empty if one mode describes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modes_a: Vec<Mode>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modes_b: Vec<Mode>,
    pub trials_a: usize,
    pub trials_b: usize,
    /// B / A of the means; null unless both are positive.
    pub ratio: Option<f64>,
    /// 95% interval of this ratio alone; null if a side has a single trial.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    /// The difference, in place of a ratio, if the means are not both positive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Change>,
    /// The ratio adjusted by the probe, if the study declared this in advance; the verdict is then based on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adjusted: Option<Adjusted>,
    /// The remaining ratio if the measured disturbance had its largest possible effect, for a verdict that is based on
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond: Option<Beyond>,
    /// At 95% over all judged metrics together (Holm), or over all others together.
    pub verdict: Verdict,
    pub judged: bool,
    /// Whether the trials include disturbed ones that count.
    pub disturbed: bool,
    /// Whether a difference is shown with these, but neither without them nor beyond what the disturbance could
    /// explain.
    #[serde(skip)]
    pub withheld: bool,
    pub paired: bool,
    /// Trials of both sides that are left out, because the other side has none in their block.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// Whether both sides are of one run, so that trials could be compared block by block.
    #[serde(skip)]
    pub one_run: bool,
    /// Whether it is shown to be slower than the gate allows.
    #[serde(skip)]
    pub fails_gate: bool,
    /// Number of machines whose levels were removed, because trials of two runs ran on the same ones; otherwise none.
    #[serde(skip)]
    pub machines: Option<usize>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl MetricComparison {
    /// B / A on which the verdict is based: the adjusted ratio if the study declared an adjustment; none without a
    /// ratio.
    pub fn decisive(&self) -> Option<Estimate> {
        match &self.adjusted {
            Some(adjusted) => Some(Estimate { value: adjusted.ratio, ci: adjusted.ci }),
            None => Some(Estimate { value: self.ratio?, ci: self.ci }),
        }
    }
}

/// A difference beyond the largest possible effect of the measured disturbance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Beyond {
    /// The largest share of the time of a disturbed trial that other processes took, from 0 to 1.
    pub taken: f64,
    /// B / A of the means, if the whole load had stalled during all of that time.
    pub ratio: f64,
    /// 95% interval of this ratio alone.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
}

/// B - A of the means, in the metric's unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// In the unit of the metric; positive if B is larger.
    pub value: f64,
    /// 95% interval of this difference alone; null if a side has a single trial.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
}

/// Trials of one side that gave no result for reasons other than a disturbance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Lost {
    pub failed: usize,
    /// Trials without any attempt that gave a comparable result.
    pub lost: usize,
    pub trials: usize,
}

/// Failures of two conditions, and whether B fails more often.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Losses {
    /// The first side, as the caller named it, or `A`.
    #[serde(skip)]
    pub first: String,
    /// The other side, or `B`.
    pub side: String,
    pub condition: ConditionPair,
    pub a: Lost,
    pub b: Lost,
    /// Probability of at least as many failures in B if both fail equally often: Fisher's exact test, one-sided,
    /// adjusted for the number of conditions with failures.
    pub p_value: f64,
    pub b_fails_more: bool,
}

impl Losses {
    /// Failures of the sides with these labels, not tested yet; none if neither failed.
    pub(super) fn of([first, side]: [&str; 2], condition: ConditionPair, [a, b]: [Lost; 2]) -> Option<Self> {
        let (first, side) = (first.to_owned(), side.to_owned());
        (a.failed + b.failed > 0).then_some(Self { first, side, condition, a, b, p_value: 1.0, b_fails_more: false })
    }

    pub(crate) fn leaves_nothing(&self) -> bool {
        [self.a, self.b].iter().any(|side| side.lost > 0 && side.lost == side.trials)
    }
}

/// The change of the probe itself between two sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ProbeChange {
    /// B / A of its mean readings; above 1 if the machine was slower alongside B.
    pub ratio: f64,
    /// 95% interval of this ratio alone.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    /// Whether it is shown to differ, at 95% over all judged metrics.
    pub shown: bool,
}

/// A ratio adjusted by a probe.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Adjusted {
    pub by: Probe,
    /// B / A of the geometric means at the same reading of the probe.
    pub ratio: f64,
    /// 95% interval of this ratio alone.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    pub probe: Option<ProbeChange>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConditionPair {
    pub a: String,
    pub b: String,
}

impl fmt::Display for ConditionPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.a)?;
        if self.a == self.b { Ok(()) } else { write!(f, " -> {}", self.b) }
    }
}

impl Serialize for ConditionPair {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}
