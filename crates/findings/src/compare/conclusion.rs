//! A comparison as a whole: its metrics, its gate and the notes about both sides.

use super::model::{ConditionPair, Losses, Lost, MetricComparison, ProbeChange};
use crate::differences::Difference;
use crate::one_study::OneStudy;
use crate::probes::Refusal;
use serde::Serialize;
use tare_results::probe::Probe;
use tare_results::server::LowOptimisation;
use tare_stats::ratio::Verdict;

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
    /// Some of them have a throughput of 0 or below, which is no result.
    NothingDone {
        side: String,
        condition: String,
        metric: String,
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
        /// The study that measures all of them in one session, if they differ in one key.
        one_study: Option<OneStudy>,
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
        probe: Probe,
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
    /// The same for a gate that passes.
    GateDriftUnseen {
        metric: String,
        /// Trials of the shorter side.
        trials: usize,
        correlation: f64,
    },
}
