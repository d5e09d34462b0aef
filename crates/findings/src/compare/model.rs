//! What is compared, and what it came to.

use crate::differences::Difference;
use crate::ends;
use crate::mode::Mode;
use crate::probes::Refusal;
use serde::{Serialize, Serializer};
use std::fmt;
use tare_results::Results;
use tare_results::metric::Better;
use tare_results::probe::Probe;
use tare_results::server::LowOptimisation;
use tare_stats::Interval;
use tare_stats::ratio::Verdict;

#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Smallest change of interest, as a fraction: smaller ones count as equal.
    pub min_effect: f64,
    /// Gate: largest slowdown that passes, as a fraction. None is no gate.
    pub fail_if_slower: Option<f64>,
    /// Metrics that the gate judges; empty is every primary one, or every one where there is no primary.
    pub judged: Vec<String>,
}

/// One side: results, and of them all conditions or one.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    pub results: &'a Results,
    /// One condition of them, by its name or some of its levels (`aslr=on`), which may stand for several; none is all.
    pub condition: Option<&'a str>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    #[error("there is no condition `{name}`")]
    NoCondition { name: String, known: Vec<String> },
    /// Several conditions a side and none of the same name.
    #[error("no condition has the same name on both sides")]
    NothingShared { a: Vec<String>, b: Vec<String> },
    #[error("both sides are the same trials of {path}")]
    SameTrials { path: String },
    #[error("no metric was measured on both sides")]
    NoMetric,
    #[error("metric `{name}` was not measured on both sides")]
    NoSuchMetric { name: String, known: Vec<String> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// No judged metric can be slower than allowed, at 95%, and neither side lost a trial.
    Passed,
    /// A judged metric is slower than allowed, by more than disturbance could explain, or B fails more often.
    Failed,
    /// The trials do not tell, or some of them are lost.
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
    /// Modes of the trials of A, the lower first; empty where one describes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modes_a: Vec<Mode>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modes_b: Vec<Mode>,
    pub trials_a: usize,
    pub trials_b: usize,
    /// B / A of the means; null when they are not both positive.
    pub ratio: Option<f64>,
    /// 95% interval of this ratio alone; null with a single trial on a side.
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
    /// What stands in place of a ratio where the means are not both positive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Change>,
    /// The ratio with what the probe explains taken out, where the study said so in advance; the verdict rests on it
    /// then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adjusted: Option<Adjusted>,
    /// What is left of it where the measured disturbance explains all that it can, of a verdict that rests on that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond: Option<Beyond>,
    /// At 95% over all judged metrics together (Holm), or over all others together.
    pub verdict: Verdict,
    pub judged: bool,
    /// Whether trials are among them that count although they were disturbed.
    pub disturbed: bool,
    /// Whether the two were compared block by block.
    pub paired: bool,
}

/// A difference beyond what the measured disturbance could explain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Beyond {
    /// The largest share of the time of a disturbed trial that others took, from 0 to 1.
    pub taken: f64,
    /// B / A of the means if that had stopped everything each time.
    pub ratio: f64,
    /// 95% interval of this ratio alone.
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
}

/// B - A of the means, in the metric's unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// In the unit of the metric; above 0 where B is larger.
    pub value: f64,
    /// 95% interval of this difference alone; null with a single trial on a side.
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
}

/// Trials of one side that gave no result by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Lost {
    pub failed: usize,
    /// Trials of which no attempt gave a result that is compared.
    pub lost: usize,
    pub trials: usize,
}

/// What two conditions lost, and whether B fails more often.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Losses {
    /// The further side, as the caller named it, or `B`.
    pub side: String,
    pub condition: ConditionPair,
    pub a: Lost,
    pub b: Lost,
    /// Chance of as many failures in B if both fail as often: Fisher's exact test, one-sided, adjusted for the number
    /// of conditions that lost something.
    pub p_value: f64,
    /// Whether B is shown to fail more often, at 95%.
    pub b_fails_more: bool,
}

impl Losses {
    /// Whether a side has no trial left to compare.
    pub fn leaves_nothing(&self) -> bool {
        [self.a, self.b].iter().any(|side| side.lost > 0 && side.lost == side.trials)
    }
}

/// What a probe itself did between two sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ProbeChange {
    /// B / A of its mean readings; above 1 the machine was slower alongside B.
    pub ratio: f64,
    /// 95% interval of this ratio alone.
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
    /// Whether it is shown to differ, at 95% over all judged metrics.
    pub shown: bool,
}

/// A ratio with what a probe explains taken out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Adjusted {
    /// The probe: `chain`, `spin` or `wakeup`.
    pub by: String,
    /// B / A of the geometric means at the same reading of the probe.
    pub ratio: f64,
    /// 95% interval of this ratio alone.
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
    pub probe: Option<ProbeChange>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgainstFirst {
    pub against: String,
    #[serde(flatten)]
    pub metric: MetricComparison,
}

/// Sides of one condition and metric, the best first, with the groups that they belong to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grouped {
    pub condition: String,
    pub name: String,
    /// Every side that has it, the best mean first.
    pub sides: Vec<InGroups>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InGroups {
    pub side: String,
    /// Letters of the groups that it belongs to: sides that share one cannot be told apart at 95%, all pairs together.
    pub letters: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ManyComparison {
    /// The sides as the caller named them; the first is the base.
    pub sides: Vec<String>,
    /// Every metric of every other side; verdicts hold for all judged ones together.
    pub metrics: Vec<AgainstFirst>,
    /// Which sides cannot be told apart, by condition and judged metric; empty of two sides, and of more than are read.
    pub groups: Vec<Grouped>,
    /// Failed trials, by side and condition; empty where none failed.
    pub losses: Vec<Losses>,
    /// Whether all sides are of one run, which compares them block by block.
    pub one_run: bool,
    pub gate: Option<Gate>,
    pub notes: Vec<Note>,
}

/// B against A, for `tare compare A B`.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The SHA-1 of the server programs, where both sides are the same program, settings and data.
    pub identical: Option<Vec<String>>,
    /// What is different in how the two were made.
    pub differences: Vec<Difference>,
    pub metrics: Vec<MetricComparison>,
    /// Failed trials, by condition; empty where none failed.
    pub losses: Vec<Losses>,
    /// Whether both sides are of one run, which compares them block by block.
    pub one_run: bool,
    /// The sessions of each side, where there are several, each of which is one observation.
    pub sessions: Option<Sessions>,
    pub gate: Option<Gate>,
    pub notes: Vec<Note>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Sessions {
    pub a: usize,
    pub b: usize,
    /// Whether both sides were measured in the same ones.
    pub paired: bool,
    /// Whether they are enough for a verdict beyond them.
    pub decides: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// A further side is the same program, settings and data as the first.
    Identical {
        side: String,
        first: String,
    },
    OnlyIn {
        condition: String,
        side: String,
    },
    /// The probe that was said in advance adjusts nothing.
    Refused(Refusal),
    /// It adjusts nothing although nothing moves it: too few trials, or some without a reading.
    Unprobed(Probe),
    /// Trials that count although they were disturbed.
    Disturbed {
        side: String,
        condition: String,
        trials: usize,
        of: usize,
    },
    /// Attempts that are not compared.
    NotCompared {
        side: String,
        condition: String,
        failed: usize,
        /// Disturbed, and another attempt was left.
        put_aside: usize,
    },
    /// A side lost trials by itself: no attempt at them gave a result.
    Lost {
        side: String,
        condition: String,
        lost: Lost,
    },
    /// A further side fails more often than the first.
    FailsMore {
        first: String,
        losses: Losses,
    },
    /// Sides that were measured in another session than the first.
    Sessions {
        first: String,
        others: Vec<String>,
        /// Whether they are of servers that ran already, which have no program to choose.
        running: bool,
    },
    /// Several sessions a side, each of which is one observation.
    OfSessions {
        of: Sessions,
        /// As that of [`Note::Sessions`].
        running: bool,
    },
    /// Sides of machines whose sockets are cut into NUMA nodes in different ways (SNC, NPS, L3 as NUMA).
    NodeLayouts {
        side: String,
        first: String,
        /// How those of the first are cut, and of the other side.
        layouts: [String; 2],
    },
    /// The probe itself differs between two sides that are adjusted by it.
    ProbeMoved {
        /// `chain`, `spin` or `wakeup`.
        probe: String,
        side: String,
        condition: ConditionPair,
        change: ProbeChange,
        /// Whether the sides ran in the same blocks, where the machine's own drift cannot be the reason.
        paired: bool,
    },
    Modes {
        side: String,
        condition: String,
        metric: String,
        modes: usize,
    },
    /// A server of this side was compiled below the level of builds for production.
    LowOptimisation {
        side: String,
        condition: String,
        level: LowOptimisation,
    },
    SingleTrial,
    /// Trials resemble the ones before them, and the runs came one after the other.
    Drifted {
        /// How many times as wide as independent trials would make them intervals are, at most.
        widest: f64,
        /// Whether they are shown to, at 95%; else they may.
        shown: bool,
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
