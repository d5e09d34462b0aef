//! Inputs and results of a comparison.

use crate::confidence;
use crate::differences::Difference;
use crate::mode::Mode;
use crate::probes::Refusal;
use serde::{Serialize, Serializer};
use std::fmt;
use tare_results::Results;
use tare_results::metric::Better;
use tare_results::probe::Probe;
use tare_results::server::LowOptimisation;
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// No judged metric can be slower than allowed, at 95%, neither side lost a trial or has planned ones that were not
    /// run, and every condition of A was compared.
    Passed,
    /// A judged metric is slower than allowed, by more than disturbance could explain, or B fails more often.
    Failed,
    /// The trials do not decide it, or some are lost or missing.
    Inconclusive,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricComparison {
    pub name: String,
    pub condition: ConditionPair,
    pub unit: String,
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
    /// The probe: `chain`, `spin` or `wakeup`.
    pub by: String,
    /// B / A of the geometric means at the same reading of the probe.
    pub ratio: f64,
    /// 95% interval of this ratio alone.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    pub probe: Option<ProbeChange>,
}

/// Disturbed attempts of the compared conditions of one side.
#[derive(Debug, Clone, PartialEq)]
pub struct DisturbedSide {
    /// Where `tare show --all` lists them individually; empty for several sessions.
    pub results: String,
    /// Trials that count although they were disturbed.
    pub counted: usize,
    pub of: usize,
    /// Set aside for another attempt.
    pub set_aside: usize,
    /// The program that disturbed most of these attempts; none if no program is known.
    pub program: Option<MostDisturbing>,
}

/// The program that disturbed most attempts.
#[derive(Debug, Clone, PartialEq)]
pub struct MostDisturbing {
    pub program: String,
    pub attempts: usize,
    /// Its CPU time / the sample's length, the maximum over the samples of these attempts.
    pub cpus: f64,
    /// Number of other programs that disturbed an attempt.
    pub others: usize,
}

/// B compared with A, for `tare compare A B`.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The SHA-1 of the server programs, if both sides have the same program, settings and data.
    pub identical: Option<Vec<String>>,
    /// Differences between how the two were made.
    pub differences: Vec<Difference>,
    pub metrics: Vec<MetricComparison>,
    /// Failed trials, by condition; empty if none failed.
    pub losses: Vec<Losses>,
    /// Whether both sides are from one run, which compares them block by block.
    pub one_run: bool,
    /// The sessions of each side, if there are several; each is one observation.
    pub sessions: Option<Sessions>,
    pub gate: Option<Gate>,
    pub notes: Vec<Note>,
}

/// The factor that puts sides of several runs into one study; of several sides the last of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum JoinedBy {
    /// None: the sides do not differ.
    Nothing,
    /// What differs, because it is not the server's program.
    Difference,
    Binary,
    /// They use running servers, for which no program can be chosen.
    Socket,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Sessions {
    /// Sessions of A with a value of every judged metric.
    pub a: usize,
    pub b: usize,
    /// Whether both sides were measured in the same sessions.
    pub paired: bool,
    /// Whether there are enough sessions for a verdict that holds beyond them.
    pub decides: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// Another side has the same program, settings and data as the first.
    Identical {
        side: String,
        first: String,
    },
    OnlyIn {
        condition: String,
        side: String,
    },
    /// The headline metric of one side, which the other side lacks in some of the compared conditions.
    Lacks {
        side: String,
        metric: String,
        of: String,
        conditions: usize,
        compared: usize,
    },
    /// The probe declared in advance does not adjust the comparison.
    Refused(Refusal),
    /// It adjusts nothing although no difference can move it: too few trials, or some without a reading.
    Unprobed(Probe),
    /// Disturbed attempts of all compared conditions of a side.
    Disturbed {
        side: String,
        attempts: DisturbedSide,
    },
    /// Failed attempts, which are left out of the comparison.
    Failed {
        side: String,
        condition: String,
        failed: usize,
    },
    /// A side lost trials: no attempt at them gave a result.
    Lost {
        side: String,
        condition: String,
        lost: Lost,
    },
    /// Planned trials of a side were not run: no attempt at them is recorded.
    Unfinished {
        side: String,
        missing: usize,
        planned: usize,
    },
    /// Another side fails more often than the first.
    FailsMore(Losses),
    /// A file whose values are those of the first side, one by one.
    SameValues {
        side: String,
        first: String,
    },
    /// Sides that were measured in another session than the first.
    Sessions {
        first: String,
        others: Vec<String>,
        joined_by: JoinedBy,
    },
    /// Several sessions per side; each is one observation.
    OfSessions {
        of: Sessions,
        joined_by: JoinedBy,
    },
    /// Sides from machines whose sockets are divided into NUMA nodes differently (SNC, NPS, L3 as NUMA).
    NodeLayouts {
        side: String,
        first: String,
        /// The layout of the first side, then of the other.
        layouts: [String; 2],
    },
    /// The probe itself differs between two sides that it adjusts.
    ProbeMoved {
        /// `chain`, `spin` or `wakeup`.
        probe: String,
        side: String,
        condition: ConditionPair,
        change: ProbeChange,
        /// Whether the sides ran in the same blocks, which excludes drift of the machine as the reason.
        paired: bool,
    },
    Modes {
        side: String,
        condition: String,
        metric: String,
        modes: usize,
    },
    /// A server of this side was compiled with less optimisation than builds for production.
    LowOptimisation {
        side: String,
        condition: String,
        level: LowOptimisation,
    },
    /// A side has a single trial, or both have too few for a verdict on any but a very large difference.
    TooFewTrials {
        /// Trials of the side that has fewest.
        trials: usize,
    },
    /// Consecutive trials are correlated, and the runs were made one after the other.
    Drifted {
        /// Largest ratio of an interval's width to that for independent trials.
        widest: f64,
        /// Whether the correlation is shown, at 95%; else it is possible.
        shown: bool,
    },
    /// A verdict on two runs that would change if neighbouring trials had this correlation, which the runs do not
    /// exclude.
    DriftUnseen {
        metric: String,
        verdict: Verdict,
        /// Trials of the shorter side.
        trials: usize,
        correlation: f64,
    },
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
