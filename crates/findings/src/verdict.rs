//! What the study's question came to, as a value: what was compared, by how much, how sure, and on which conditions.
//! Two verdicts are compared as values; sentences are made of them elsewhere.

use super::ends;
use super::find::Find;
use super::mode::Mode;
use super::pooled::PooledStep;
use super::term::{Second, Term};
use serde::Serialize;
use std::collections::BTreeSet;
use tare_results::looks::Look;
use tare_results::schema::{LeftOut, Levels, Within};
use tare_stats::Interval;
use tare_stats::blocks::Analysis;

/// The answer to the study's question, and what becomes of it without the disturbed trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// From all trials that count.
    pub verdict: Verdict,
    /// None where no trial among them was disturbed.
    pub disturbed: Option<Disturbed>,
    /// Whether the run was a rehearsal, too short to rely on.
    pub is_rehearsal: bool,
    /// Settings of the machine that the study did without.
    pub left_out: Vec<LeftOut>,
    /// What was cut of the study to fit a time, and how many of its conditions were not measured at all.
    pub within: Option<(Within, usize)>,
    /// The look before the last one that settled the question; none where it took all trials, or is not settled.
    pub ended_early: Option<Look>,
}

impl Answer {
    /// The verdict that is said first; none where disturbed trials leave the question open.
    pub fn decides(&self) -> Option<&Verdict> {
        match self.disturbed.as_ref().map(|found| &found.without) {
            None | Some(Without::Untested) => Some(&self.verdict),
            Some(Without::Same(clean) | Without::Other(clean)) => Some(clean),
            Some(Without::Selected { .. } | Without::TooFew) => None,
        }
    }
}

/// The disturbed trials among those that an answer rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Disturbed {
    pub trials: usize,
    /// Of how many that count.
    pub of: usize,
    /// What the question comes to without them.
    pub without: Without,
}

/// What the question comes to without the disturbed trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum Without {
    /// Nothing was tested, so nothing has to be confirmed.
    Untested,
    /// The same claim, with figures of its own.
    Same(Verdict),
    /// Another claim.
    Other(Verdict),
    /// Another claim, from clean trials that are, or may be, a selection of the fast ones of a condition.
    Selected { condition: String, why: Selected, clean: Verdict },
    /// Too few clean trials are left to say.
    TooFew,
}

/// Why clean trials are held for a selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Selected {
    /// All disturbed ones are slower than every clean one and than what disturbed them explains.
    Beyond,
    /// One that is disturbed is slower than that explains, and further from clean ones than these are from each other:
    /// only for how trials differ.
    OneBeyond,
    /// Disturbed ones are no further from clean ones than these differ among themselves, and only without them is
    /// anything claimed.
    Near,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum Verdict {
    Untested(Untested),
    /// Some factor is shown to move what was measured.
    Moved {
        what: Measured,
        /// The one with the largest effect.
        first: Moved,
        /// The others by their effects, without those that round to none.
        rest: Vec<Moved>,
        tested: Tested,
    },
    NotMoved {
        what: Measured,
        terms: Vec<Term>,
        tested: Tested,
        /// Metrics that a factor moves although not their average.
        alone: Vec<MovedAlone>,
    },
    Ranked {
        what: Measured,
        factors: Vec<String>,
        ranking: Ranked,
        /// The extreme means, where one metric was measured.
        range: Option<Range>,
        /// Trials of the condition that has fewest.
        fewest_trials: usize,
        tested: Tested,
    },
    NotRanked {
        what: Measured,
        conditions: usize,
        /// The extreme means, where one metric was measured.
        range: Option<Range>,
        /// Trials of the condition that has fewest.
        fewest_trials: usize,
        tested: Tested,
        /// Metrics in which conditions differ although not on average.
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
        of: LevelsOf,
        tested: Tested,
    },
    /// The best of conditions of which the worse were dropped on the way.
    Raced(Box<Find>),
    /// Which factors the spread between trials comes from; none where no factor is shown to.
    SpreadFrom(SpreadFrom),
    /// Steps of ladders on which more gave less; empty where no step is shown to.
    Steps {
        less: Vec<LessStep>,
        ladders: usize,
        /// Each step over all ladders of a load; empty where no two ladders have the same.
        pooled: Vec<PooledStep>,
    },
    /// A study of several loads, each by itself: their average is of no load.
    ByLoad(Vec<OfLoad>),
}

/// What a question came to on one of several loads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfLoad {
    /// `workload` of its conditions.
    pub load: String,
    /// Of its conditions alone.
    pub verdict: Verdict,
    /// Whether the study shows it, where all loads are asked at once.
    pub shown: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum Untested {
    NoTrial,
    /// Attempts were made, and none gave a result.
    NoneOk {
        attempts: usize,
    },
    NoValue,
    Alone(Alone),
    /// Loads, each under one condition: different work, of which none is compared with another.
    LoadsAlone {
        loads: usize,
        /// The loads with the smallest and the largest mean of a metric, where every one has it.
        metric: String,
        range: Option<Range>,
    },
    NotPositive {
        metric: String,
    },
    SingleTrial {
        metric: String,
        range: Option<Range>,
    },
    NotRankable,
    /// Too few trials to say where spread comes from.
    NoSpreadSources,
    /// Fewer than three numbers of threads or nodes.
    TooFewRungs {
        unrealizable: usize,
        /// What the conditions themselves say.
        instead: Box<Verdict>,
    },
    NoSteps,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tested {
    /// Tests that were made: of main effects, or of pairs.
    pub count: usize,
    /// Tests there could have been, which p-values are adjusted for.
    pub of: usize,
    /// How the trials were compared, and how many of them.
    pub analysis: Analysis,
}

/// One of several metrics, moved on its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MovedAlone {
    /// Which of the metrics that are taken together.
    pub metric: String,
    /// The factor that moves it; none where two conditions differ in it.
    pub by: Option<Term>,
    /// The level, or the condition, that is divided.
    pub high: String,
    /// The one that is divided by.
    pub low: String,
    /// Mean at the one over that at the other.
    pub ratio: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Measured {
    /// The metric, or the first of several that are taken together.
    pub metric: String,
    /// How many are taken together.
    pub metrics: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    pub mean: f64,
    /// 95% interval of it; none with a single trial.
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
    pub trials: usize,
    pub unit: &'static str,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alone {
    /// Its name; empty where a study has no factors.
    pub condition: String,
    pub metric: String,
    pub estimate: Estimate,
    /// The modes that its trials fall into; empty where none are shown.
    pub modes: Vec<Mode>,
    /// The least and the most of trials that their mean does not describe; none where it does.
    pub range: Option<(f64, f64)>,
}

/// How a factor moves what was measured, the other factors averaged out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Moved {
    /// The factor, or several that always change together.
    pub term: Term,
    /// The level that is divided.
    pub high: String,
    /// The level that is divided by.
    pub low: String,
    /// Mean at the high level over that at the low one.
    pub ratio: f64,
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
    /// Chance of it where there is none, adjusted for all that were tested.
    pub p_value: Option<f64>,
    /// Whether the study shows it.
    pub shown: bool,
}

/// The ends of a ranking of conditions or levels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranked {
    /// Where two are all that there is: what the second of the study is against the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second: Option<Second>,
    /// The condition or level with the best mean.
    pub best: String,
    pub best_ties: Vec<String>,
    /// The condition or level with the worst mean.
    pub worst: String,
    pub worst_ties: Vec<String>,
    /// The pair that differs by most; none where it is that of the best and the worst.
    pub apart: Option<Apart>,
    /// The larger of the pair over the smaller.
    pub ratio: f64,
    /// 95% interval of it for all pairs together.
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
    pub differing: usize,
    /// Chance of a pair like the surest one where all are alike.
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
    pub unit: &'static str,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelsOf {
    pub factor: String,
    pub levels: usize,
    /// At which number of threads, nodes or caches: the largest.
    pub at: Option<(&'static str, f64)>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpreadFrom {
    pub sources: Vec<ShownSource>,
    /// Share of the variance that stays with every one at its quiet level.
    pub unexplained: f64,
    /// What chance alone made of the condition whose trials differ most; none with one trial each.
    pub by_chance: Option<ByChance>,
}

/// What trials of one condition, with nothing set differently between them, came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ByChance {
    pub condition: String,
    /// Means of the modes that its trials fall into, lower first; without modes the least and the most.
    pub means: Vec<f64>,
    pub are_modes: bool,
    pub unit: &'static str,
}

/// A factor that is shown to make trials vary more.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShownSource {
    pub factor: String,
    pub levels: usize,
    pub noisy_level: String,
    pub quiet_level: String,
    /// Share of the variance between trials that goes when it is held at its quiet level.
    pub share: f64,
}

/// A step of a ladder on which more gave less.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LessStep {
    /// `threads`, `nodes` or `caches`.
    pub over: String,
    pub levels: Levels,
    /// The number before the step.
    pub from: f64,
    /// The number after it.
    pub to: f64,
    /// Throughput after the step over that before it.
    pub ratio: f64,
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
}

impl Verdict {
    /// What it rests on; none of what is tested otherwise.
    pub fn tested(&self) -> Option<Tested> {
        match self {
            Self::Moved { tested, .. }
            | Self::NotMoved { tested, .. }
            | Self::Ranked { tested, .. }
            | Self::NotRanked { tested, .. }
            | Self::RankedLevels { tested, .. }
            | Self::NotRankedLevels { tested, .. } => Some(*tested),
            Self::Untested(Untested::TooFewRungs { instead, .. }) => instead.tested(),
            Self::Untested(_) | Self::Raced(_) | Self::SpreadFrom(_) | Self::Steps { .. } | Self::ByLoad(_) => None,
        }
    }

    /// Whether it says something that was tested.
    pub fn is_tested(&self) -> bool {
        match self {
            Self::Untested(_) => false,
            Self::ByLoad(loads) => loads.iter().any(|own| own.verdict.is_tested()),
            _ => true,
        }
    }

    /// Whether it says that something differs, and not only that nothing is shown to.
    pub fn is_claim(&self) -> bool {
        match self {
            Self::Untested(_) | Self::NotRankedLevels { .. } => false,
            Self::NotMoved { alone, .. } | Self::NotRanked { alone, .. } => !alone.is_empty(),
            Self::Moved { .. } | Self::Ranked { .. } | Self::RankedLevels { .. } => true,
            Self::Raced(race) => race.decided,
            Self::SpreadFrom(from) => !from.sources.is_empty(),
            Self::Steps { less, pooled, .. } => !less.is_empty() || pooled.iter().any(PooledStep::is_claim),
            Self::ByLoad(loads) => loads.iter().any(|own| own.shown && own.verdict.is_claim()),
        }
    }

    /// Whether it claims something that another verdict on the same question does not.
    pub fn claims_more_than(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Moved { first, rest, .. }, Self::Moved { first: first_other, rest: rest_other, .. }) => {
                let [own, others] = [(first, rest), (first_other, rest_other)]
                    .map(|(first, rest)| claims(rest).into_iter().chain([first.claim()]).collect::<BTreeSet<_>>());
                !own.is_subset(&others)
            }
            _ => self.is_claim() && !self.claims_the_same(other),
        }
    }

    /// Whether another verdict claims the same of the same conditions. Figures may differ, and so may what is only
    /// listed where nothing is shown: the extreme means of conditions that do not differ are luck.
    pub fn claims_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Moved { first, rest, .. }, Self::Moved { first: first_other, rest: rest_other, .. }) => {
                first.claim() == first_other.claim() && claims(rest) == claims(rest_other)
            }
            (Self::NotMoved { terms, alone, .. }, Self::NotMoved { terms: others, alone: alone_other, .. }) => {
                terms == others && claims_alone(alone) == claims_alone(alone_other)
            }
            (Self::Ranked { ranking, .. }, Self::Ranked { ranking: other, .. }) => ranking.claim() == other.claim(),
            (Self::NotRanked { alone, .. }, Self::NotRanked { alone: other, .. }) => {
                claims_alone(alone) == claims_alone(other)
            }
            (
                Self::RankedLevels { of, ranking, .. },
                Self::RankedLevels { of: of_other, ranking: ranking_other, .. },
            ) => of == of_other && ranking.claim() == ranking_other.claim(),
            (Self::NotRankedLevels { of, .. }, Self::NotRankedLevels { of: other, .. }) => of == other,
            (Self::SpreadFrom(from), Self::SpreadFrom(other)) => from.claim() == other.claim(),
            (Self::Steps { less, pooled, .. }, Self::Steps { less: others, pooled: pooled_other, .. }) => {
                less.iter().map(LessStep::claim).eq(others.iter().map(LessStep::claim))
                    && pooled.iter().map(PooledStep::claim).eq(pooled_other.iter().map(PooledStep::claim))
            }
            (Self::ByLoad(loads), Self::ByLoad(others)) => {
                let same = |(one, other): (&OfLoad, &OfLoad)| {
                    one.load == other.load && one.shown == other.shown && one.verdict.claims_the_same(&other.verdict)
                };
                loads.len() == others.len() && loads.iter().zip(others).all(same)
            }
            _ => false,
        }
    }
}

impl Moved {
    /// Which factor, and which of its levels has more.
    fn claim(&self) -> (String, bool) {
        (self.term.to_string(), self.ratio > 1.0)
    }
}

/// Effects in no order: which of two small ones is the larger is no claim.
fn claims(moved: &[Moved]) -> BTreeSet<(String, bool)> {
    moved.iter().map(Moved::claim).collect()
}

/// Which metric moves at which level, and which way.
fn claims_alone(moved: &[MovedAlone]) -> BTreeSet<(&str, &str, &str, bool)> {
    moved.iter().map(|one| (one.metric.as_str(), one.high.as_str(), one.low.as_str(), one.ratio > 1.0)).collect()
}

impl Ranked {
    fn claim(&self) -> ([(&str, BTreeSet<&String>); 2], Option<&Apart>) {
        let ends = [(&*self.best, self.best_ties.iter().collect()), (&*self.worst, self.worst_ties.iter().collect())];
        (ends, self.apart.as_ref())
    }
}

impl SpreadFrom {
    fn claim(&self) -> BTreeSet<[&str; 3]> {
        self.sources
            .iter()
            .map(|source| [source.factor.as_str(), source.noisy_level.as_str(), source.quiet_level.as_str()])
            .collect()
    }
}

impl LessStep {
    fn claim(&self) -> (&str, &Levels, f64, f64) {
        (&self.over, &self.levels, self.from, self.to)
    }
}
