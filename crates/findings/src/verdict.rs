//! The answer to the study's question as a value: what was compared, the size and certainty of the difference, and
//! under which conditions. Sentences are written elsewhere.

use super::confidence;
use super::factors::{Extremes, Second, Term};
use super::find::Find;
use super::load_steps::StepMean;
use super::mode::Mode;
use super::pooled::PooledStep;
use super::spread::SpreadFrom;
use serde::Serialize;
use std::collections::BTreeMap;
use tare_results::looks::Look;
use tare_results::schema::{LeftOut, Levels, Within};
use tare_results::unit::Unit;
use tare_stats::Interval;
use tare_stats::blocks::Analysis;

/// The answer to the study's question, and whether it holds without the disturbed trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// From all trials that count.
    pub verdict: Verdict,
    /// None if none of these trials was disturbed.
    pub disturbed: Option<Disturbed>,
    pub is_rehearsal: bool,
    /// Machine settings that the study could not apply.
    pub left_out: Vec<LeftOut>,
    /// What was cut to fit a time limit, and how many conditions were not measured at all.
    pub within: Option<(Within, usize)>,
    /// The interim look that settled the question; none if it took all trials or is not settled.
    pub ended_early: Option<Look>,
    /// Loads whose question an interim look settled before that of others, with the number of their blocks.
    pub ended_loads: BTreeMap<String, usize>,
}

impl Answer {
    /// The verdict to report first; none if disturbed trials leave the question open.
    pub fn decides(&self) -> Option<&Verdict> {
        match self.disturbed.as_ref().map(|found| &found.without) {
            None | Some(Without::Untested) => Some(&self.verdict),
            Some(Without::Same(clean) | Without::Other(clean)) => Some(clean),
            Some(Without::Selected { .. } | Without::TooFew) => None,
        }
    }

    /// Whether it, and every other finding with it, rests on clean trials alone.
    pub fn leaves_disturbed_out(&self) -> bool {
        let without = self.disturbed.as_ref().map(|found| &found.without);
        matches!(without, Some(Without::Same(_) | Without::Other(_)))
    }

    /// The verdict from the trials on which the other findings rest.
    pub fn shown(&self) -> &Verdict {
        self.decides().unwrap_or(&self.verdict)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Disturbed {
    pub trials: usize,
    /// Number of trials that count, including the disturbed ones.
    pub of: usize,
    pub without: Without,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum Without {
    /// Nothing was tested, so nothing needs to be confirmed.
    Untested,
    /// The same claim, with its own figures.
    Same(Verdict),
    /// A different claim.
    Other(Verdict),
    /// A different claim, from clean trials that are, or may be, a selection of the fast ones of a condition.
    Selected { condition: String, why: Selected, clean: Verdict },
    /// Too few clean trials are left for a verdict.
    TooFew,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Selected {
    /// All disturbed trials are slower than every clean one, by more than the disturbance explains.
    Beyond,
    /// One disturbed trial is slower than the disturbance explains, and further from the clean ones than these are from
    /// each other. Only for the question of spread.
    OneBeyond,
    /// Disturbed trials are no further from the clean ones than these differ among themselves, and only the clean
    /// trials give a claim.
    Near,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum Verdict {
    Untested(Untested),
    /// Some factor is shown to have an effect.
    Moved {
        what: Measured,
        /// The largest effect.
        first: Moved,
        /// The other effects in descending order, without those that round to zero.
        rest: Vec<Moved>,
        tested: Tested,
        /// Of a load in steps, the metrics of single steps that a factor moves.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        alone: Vec<MovedAlone>,
    },
    NotMoved {
        what: Measured,
        terms: Vec<Term>,
        /// The largest of the effects.
        largest: Option<Moved>,
        tested: Tested,
        /// Metrics that a factor moves although their average does not move.
        alone: Vec<MovedAlone>,
    },
    Ranked {
        what: Measured,
        /// All factors that vary.
        factors: Vec<String>,
        /// The factor that makes the difference: the only one in which the two conditions of `ranking` differ.
        by: Option<String>,
        ranking: Ranked,
        /// The extreme means, if a single metric was measured and both describe their trials.
        range: Option<Range>,
        /// Number of trials of the condition that has fewest.
        fewest_trials: usize,
        tested: Tested,
        /// Of a load in steps, the metrics of single steps in which conditions differ.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        alone: Vec<MovedAlone>,
    },
    NotRanked {
        what: Measured,
        conditions: usize,
        /// The largest mean over the smallest.
        extremes: Option<Extremes>,
        /// The extreme means, if a single metric was measured and both describe their trials.
        range: Option<Range>,
        /// Number of trials of the condition that has fewest.
        fewest_trials: usize,
        tested: Tested,
        /// Metrics in which conditions differ although they do not differ on average.
        alone: Vec<MovedAlone>,
    },
    RankedLevels {
        what: Measured,
        of: LevelsOf,
        ranking: Ranked,
        tested: Tested,
    },
    /// No level of a factor is shown to be better than another.
    NotRankedLevels {
        what: Measured,
        of: LevelsOf,
        /// The largest mean of a level over the smallest.
        extremes: Option<Extremes>,
        tested: Tested,
        /// Metrics that the factor moves although their average does not change.
        alone: Vec<MovedAlone>,
    },
    /// The best condition of a race.
    Raced(Box<Find>),
    /// The factors that cause the spread between trials; empty if none is shown to.
    SpreadFrom(SpreadFrom),
    /// Steps of ladders on which a larger number gave less; empty if none is shown.
    Steps {
        less: Vec<LessStep>,
        ladders: usize,
        /// Each step over all ladders of a load; empty if no two ladders share a step.
        pooled: Vec<PooledStep>,
    },
    /// A study of several loads, each answered separately: an average over loads describes none of them.
    ByLoad(Vec<OfLoad>),
}

/// The verdict on one of several loads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfLoad {
    /// The `workload` of its conditions.
    pub load: String,
    /// From the load's own conditions only.
    pub verdict: Verdict,
    /// Whether the study shows it, with all loads tested together.
    pub shown: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum Untested {
    NoTrial,
    /// Attempts were made, and none gave a result.
    NoneOk {
        attempts: usize,
        /// Those that were disturbed and that a resumed run repeats.
        disturbed: usize,
    },
    NoValue,
    Alone(Alone),
    /// A single condition of a load that runs in steps.
    StepsAlone {
        steps: Vec<StepMean>,
    },
    /// Several loads, each under one condition: different work, so they are not compared with each other.
    LoadsAlone {
        loads: usize,
        /// The loads with the smallest and the largest mean of a metric, if all have it.
        metric: String,
        range: Option<Range>,
    },
    NotPositive {
        metric: String,
    },
    /// More than a third of the trials of a condition have no value of the metric.
    Lacking {
        metric: String,
    },
    SingleTrial {
        metric: String,
        range: Option<Range>,
    },
    NotRankable,
    /// Too few trials to determine the source of the spread.
    NoSpreadSources,
    /// The trials of a condition vary by no more than the rounding of their values may hide.
    SpreadRounded {
        metric: String,
    },
    /// Fewer than three numbers of threads or nodes.
    TooFewRungs {
        unrealizable: usize,
        /// The verdict from comparing the conditions themselves.
        instead: Box<Verdict>,
    },
    NoSteps,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tested {
    /// Number of tests made: main effects, or pairs.
    pub count: usize,
    /// Number of possible tests, for which p-values are adjusted.
    pub of: usize,
    /// How the trials were compared, and their number.
    pub analysis: Analysis,
}

/// One of several metrics that moves by itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MovedAlone {
    /// One of the combined metrics.
    pub metric: String,
    /// The factor that moves it; none for a difference between two conditions.
    pub by: Option<Term>,
    /// The level or condition in the numerator.
    pub high: String,
    /// The level or condition in the denominator.
    pub low: String,
    /// Mean of `high` / mean of `low`.
    pub ratio: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Measured {
    /// The metric, or the first of several combined ones.
    pub metric: String,
    /// Number of metrics that are combined.
    pub metrics: usize,
    /// Number of steps of the load whose rates these are; none for any other metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    pub mean: f64,
    /// 95% interval of the mean; none with a single trial.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    pub trials: usize,
    pub unit: Unit,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alone {
    /// Its name; empty if a study has no factors.
    pub condition: String,
    pub metric: String,
    pub estimate: Estimate,
    /// The modes of its trials; empty if none are shown.
    pub modes: Vec<Mode>,
    /// The minimum and maximum of the trials if their mean does not describe them, else none.
    pub range: Option<(f64, f64)>,
}

/// The effect of a factor, averaged over the other factors.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Moved {
    /// The factor, or several that always change together.
    pub term: Term,
    /// The level in the numerator.
    pub high: String,
    /// The level in the denominator.
    pub low: String,
    /// Mean at the high level / mean at the low level.
    pub ratio: f64,
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    /// Probability of such an effect if there is none, adjusted for all tests.
    pub p_value: Option<f64>,
    pub shown: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranked {
    /// If there are only two: the second of the study compared with the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second: Option<Second>,
    pub best: String,
    pub best_ties: Vec<String>,
    pub worst: String,
    pub worst_ties: Vec<String>,
    /// The pair with the largest difference; none if it is the best and the worst.
    pub apart: Option<Apart>,
    /// The larger value of this pair over the smaller.
    pub ratio: f64,
    /// 95% interval of the ratio, simultaneous for all pairs.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    pub differing: usize,
    /// Probability of a pair as significant as the most significant one if all are equal.
    pub p_value: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Apart {
    pub high: String,
    pub low: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Range {
    pub low: (String, f64),
    pub high: (String, f64),
    pub unit: Unit,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelsOf {
    pub factor: String,
    pub levels: usize,
    /// The factor and its largest level (threads, nodes or caches) at which the levels are compared.
    pub at: Option<(&'static str, f64)>,
}

/// A step of a ladder on which a larger number gave less.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LessStep {
    /// `threads`, `nodes` or `caches`.
    pub over: String,
    pub levels: Levels,
    pub from: f64,
    pub to: f64,
    /// Throughput after the step over throughput before it.
    pub ratio: f64,
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
}

impl Verdict {
    /// The verdict with a result: of a ladder with too few rungs, the comparison of its conditions.
    pub fn stated(&self) -> &Self {
        match self {
            Self::Untested(Untested::TooFewRungs { instead, .. }) => instead.stated(),
            own => own,
        }
    }

    /// The single metrics that move.
    pub fn alone(&self) -> &[MovedAlone] {
        match self.stated() {
            Self::Moved { alone, .. }
            | Self::NotMoved { alone, .. }
            | Self::Ranked { alone, .. }
            | Self::NotRanked { alone, .. }
            | Self::NotRankedLevels { alone, .. } => alone,
            _ => &[],
        }
    }

    /// The tests behind it; none for verdicts that are tested in another way.
    pub fn tested(&self) -> Option<Tested> {
        match self.stated() {
            Self::Moved { tested, .. }
            | Self::NotMoved { tested, .. }
            | Self::Ranked { tested, .. }
            | Self::NotRanked { tested, .. }
            | Self::RankedLevels { tested, .. }
            | Self::NotRankedLevels { tested, .. } => Some(*tested),
            Self::Untested(_) | Self::Raced(_) | Self::SpreadFrom(_) | Self::Steps { .. } | Self::ByLoad(_) => None,
        }
    }
}
