//! The best of many conditions, from blocks in which the worse conditions were dropped (a race).

use super::confidence;
use crate::collect::{Unrealizable, unrealizable};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use tare_results::laps::{Laps, RaceStop};
use tare_results::schema::{Levels, Plan, PlannedCondition, Race, TrialRecord};
use tare_stats::Estimate;
use tare_stats::racing::{self, Blocks, End};

/// The metric that is traded off against throughput.
pub const TAIL: &str = "latency_ms_p99";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    Named,
    Left,
    /// It was shown to be worse than another candidate.
    Worse,
    /// It was shown to be better than the leader by less than the minimum effect, if at all.
    Close,
    /// Too many of its trials gave no result.
    Lost,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    pub name: String,
    pub levels: Levels,
    #[serde(rename = "outcome")]
    pub fate: Fate,
    /// Number of blocks after which it left the race; none while it is in it.
    #[serde(rename = "after_blocks")]
    pub after: Option<usize>,
    /// Its blocks with a value.
    pub trials: usize,
    /// How many of these trials count although they were disturbed.
    #[serde(rename = "disturbed_trials")]
    pub disturbed: usize,
    /// Whether it was disturbed alone more often than the leader was alone, so that nothing is claimed against it.
    pub disturbed_alone: bool,
    /// Its trials in which an attempt failed, also those that gave a result when they were repeated.
    pub with_failed_attempts: usize,
    /// Whether it alone failed more often than the leader alone or, of the leader, than another candidate that remains:
    /// its other trials may be a selection of the fast ones, so that nothing is claimed in its favour.
    pub fails_more: bool,
    /// Geometric mean of the metric over its undisturbed trials, or over all if there are none, in the metric's unit.
    pub value: Option<f64>,
    /// Candidate / leader, over the blocks in which neither of the two was disturbed alone. If there are none, over
    /// all blocks that both have, without an interval. None for the leader itself.
    #[serde(flatten, serialize_with = "confidence::ratio")]
    pub ratio: Option<Estimate>,
    /// As `value`, of the 99th percentile of latency, milliseconds.
    #[serde(rename = "latency_ms_p99")]
    pub p99_ms: Option<f64>,
}

/// The effect of a level compared with the leader's level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Knob {
    pub factor: String,
    pub best: String,
    pub level: String,
    /// Level / the leader's level, averaged over the other factors; above 1 is better, whatever the direction of the
    /// metric.
    #[serde(flatten, serialize_with = "confidence::ratio")]
    pub ratio: Estimate,
    /// Number of candidate pairs in the mean.
    pub pairs: usize,
}

/// The candidate with the lowest 99th percentile of latency, if it is not the leader.
#[derive(Debug, Clone, PartialEq)]
pub struct Tail {
    pub candidate: usize,
    /// Its p99 / that of the leader, with an interval that holds for all candidates simultaneously.
    pub p99_ratio: Estimate,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Open {
    /// The leader failed alone more often than another candidate that remains.
    FailsMore,
    /// The other remaining candidates are disturbed; compared with all undisturbed ones, the leader is within the
    /// minimum effect of the best.
    BestOfOthers,
    /// Some of the remaining candidates are disturbed.
    DisturbedAlone,
    /// The spread is too large for the remaining looks to decide. The value is the largest possible lag of the
    /// leader, as [`Find::behind`].
    Behind(f64),
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Find {
    /// The compared metric; none if no trial has one.
    pub metric: Option<String>,
    /// All candidates, in the order of the study.
    pub candidates: Vec<Candidate>,
    /// Index of the leading candidate; none without a value.
    #[serde(skip)]
    pub leader: Option<usize>,
    /// Whether the leader is the result.
    pub decided: bool,
    /// The effect of every other level; empty with one factor, or before it is known.
    pub knobs: Vec<Knob>,
    /// The candidate with the better tail latency; none if it is the leader, or if unknown.
    #[serde(skip)]
    pub tail: Option<Tail>,
    /// Conditions that did not take part, with their reasons.
    pub left_out: Vec<Unrealizable>,
    pub blocks: usize,
    /// Trials that were run in these blocks, including those without a result.
    pub trials: usize,
    #[serde(rename = "trials_without_value")]
    pub without_value: usize,
    /// How many of the trials count although they were disturbed.
    #[serde(rename = "disturbed_trials")]
    pub disturbed: usize,
    pub elapsed_s: f64,
    /// CoV of one trial around its block and candidate, as a fraction.
    pub cov: Option<f64>,
    /// Upper bound of the ratio of the best candidate to the leader, without the candidates that were disturbed alone
    /// more often than the leader: above 1, whatever the direction of the metric, at the confidence level of the
    /// race. None if unknown.
    #[serde(skip)]
    pub behind: Option<f64>,
    /// How many more trials would decide the race, if means and spread stay as they are; 0 if it is decided.
    pub trials_to_go: Option<usize>,
    /// Duration of these trials, seconds.
    pub to_go_s: Option<f64>,
    /// The first candidate whose program was replaced between its trials, as an index.
    #[serde(skip)]
    pub replaced: Option<usize>,
    /// Why no further block is run; none if one is.
    #[serde(skip)]
    pub stop: Option<RaceStop>,
    #[serde(skip)]
    pub rule: Race,
}

impl Find {
    /// The result of a plan's records; none if the plan is no race.
    pub fn of(plan: &Plan, records: &[TrialRecord]) -> Option<Self> {
        let rule = plan.race.clone()?;
        let laps = Laps::of(plan, &rule, records, None);
        let look = laps.decided(&rule)?;
        let (standing, question) = (&look.standing, rule.question());
        let planned = |name: &String| plan.conditions.iter().find(|condition| condition.name == *name);
        let conditions: Vec<&PlannedCondition> = rule.candidates.iter().filter_map(planned).collect();
        if conditions.len() != rule.candidates.len() {
            return None;
        }
        let (higher, tail) = (laps.is_higher_better(), Laps::of(plan, &rule, records, Some(TAIL)));
        let named = standing.leader.filter(|_| standing.decided);
        let candidate = |(i, condition): (usize, &&PlannedCondition)| {
            let (fate, after) = match standing.ended[i] {
                None if named == Some(i) => (Fate::Named, None),
                None => (Fate::Left, None),
                Some(End::Worse(after)) => (Fate::Worse, Some(after)),
                Some(End::Close(after)) => (Fate::Close, Some(after)),
                Some(End::Lost(after)) => (Fate::Lost, Some(after)),
            };
            let turned = |ratio: f64| if higher { ratio } else { 1.0 / ratio };
            Candidate {
                name: condition.name.clone(),
                levels: condition.levels.clone(),
                fate,
                after,
                trials: laps.blocks.iter().filter(|block| block[i].is_some()).count(),
                disturbed: laps.marked.iter().filter(|block| block[i]).count(),
                disturbed_alone: standing.disturbed_alone[i],
                with_failed_attempts: laps.failed.iter().filter(|block| block[i]).count(),
                fails_more: standing.fails_more[i],
                ratio: standing.ratios[i]
                    .map(|of| Estimate { value: turned(of.value), ci: of.ci.map(|ci| ci.map(turned)) }),
                value: laps.mean_of(i),
                p99_ms: tail.mean_of(i),
            }
        };
        let outlook = racing::outlook(laps.blocks(), &question, standing);
        Some(Self {
            candidates: conditions.iter().enumerate().map(candidate).collect(),
            leader: standing.leader,
            decided: standing.decided,
            knobs: standing.leader.map_or(Vec::new(), |leader| knobs(&conditions, &laps, leader, 1.0 - rule.alpha)),
            tail: standing.leader.and_then(|leader| lowest_tail(&tail, leader, 1.0 - rule.alpha)),
            left_out: unrealizable(plan),
            blocks: laps.blocks.len(),
            trials: laps.trials,
            without_value: laps.without_value,
            disturbed: laps.disturbed,
            elapsed_s: laps.elapsed_s,
            cov: standing.sd,
            behind: standing.behind,
            trials_to_go: outlook.map(|outlook| outlook.trials),
            to_go_s: outlook.map(|outlook| outlook.trials as f64 * laps.trial_s()),
            replaced: laps.replaced,
            stop: look.stop,
            metric: laps.metric,
            rule,
        })
    }

    pub fn left(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(|candidate| matches!(candidate.fate, Fate::Left | Fate::Named))
    }

    /// Candidates that were disturbed alone more often than the leader.
    pub fn disturbed_alone(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(|candidate| candidate.disturbed_alone)
    }

    /// Candidates with results that failed more often: see [`Candidate::fails_more`].
    pub fn failing_more(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(|candidate| candidate.fails_more && candidate.fate != Fate::Lost)
    }

    /// The bound of [`Find::behind`] if it is informative: after two blocks it may be as large as a billion.
    pub fn known_behind(&self) -> Option<f64> {
        self.behind.filter(|ratio| *ratio < 10.0)
    }

    /// Why the race is undecided, as far as that is known.
    pub fn open(&self) -> Option<Open> {
        let (ahead, behind) = (self.leader.filter(|_| !self.decided)?, self.known_behind());
        if self.candidates.get(ahead).is_some_and(|leader| leader.fails_more) {
            return Some(Open::FailsMore);
        }
        let is_other = |(i, candidate): &(usize, &Candidate)| *i != ahead && candidate.fate == Fate::Left;
        let mut others = self.candidates.iter().enumerate().filter(is_other).map(|(_, other)| other);
        let within = behind.is_some_and(|ratio| ratio <= 1.0 + self.rule.minimum_effect);
        match (others.clone().any(|other| other.disturbed_alone), others.all(|other| other.disturbed_alone)) {
            (true, true) if within => Some(Open::BestOfOthers),
            (true, _) => Some(Open::DisturbedAlone),
            (false, _) => behind.filter(|_| self.trials_to_go.is_none()).map(Open::Behind),
        }
    }

    pub fn ahead(&self) -> Option<&Candidate> {
        self.candidates.get(self.leader?)
    }
}

/// The effect of each level, over the blocks with every candidate, if several factors vary.
fn knobs(conditions: &[&PlannedCondition], laps: &Laps, leader: usize, confidence: f64) -> Vec<Knob> {
    let mut levels: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
    for condition in conditions {
        for (factor, level) in &condition.levels {
            levels.entry(factor).or_default().insert(level);
        }
    }
    let varying: Vec<(&String, Vec<&String>)> = levels
        .into_iter()
        .filter(|(_, of)| of.len() > 1)
        .map(|(factor, of)| (factor, of.into_iter().collect()))
        .collect();
    if varying.len() < 2 {
        return Vec::new();
    }
    let number = |condition: &PlannedCondition, (factor, of): &(&String, Vec<&String>)| {
        let own = condition.levels.get(*factor);
        of.iter().position(|level| Some(*level) == own).unwrap_or(of.len())
    };
    let numbers: Vec<Vec<usize>> =
        conditions.iter().map(|condition| varying.iter().map(|factor| number(condition, factor)).collect()).collect();
    // A block that lacks more than one candidate was run after the first candidate was dropped.
    let whole = laps.blocks.iter().take_while(|block| block.iter().flatten().count() + 1 >= conditions.len()).count();
    let blocks = Blocks { values: &laps.blocks[..whole], ..laps.blocks() };
    let found = racing::worth(blocks, &numbers, leader, confidence).unwrap_or_default();
    let name = |factor: usize, level: usize| varying[factor].1.get(level).map_or_else(String::new, |l| (*l).clone());
    found
        .into_iter()
        .map(|worth| Knob {
            factor: varying[worth.factor].0.clone(),
            best: name(worth.factor, numbers[leader][worth.factor]),
            level: name(worth.factor, worth.level),
            ratio: worth.ratio,
            pairs: worth.pairs,
        })
        .collect()
}

fn lowest_tail(tail: &Laps, leader: usize, confidence: f64) -> Option<Tail> {
    let against = racing::against(tail.blocks(), leader, confidence);
    // Values are inverted so that larger is better: here the lower latency.
    let found = against.into_iter().enumerate().filter_map(|(i, ratio)| Some((i, ratio?)));
    let (candidate, best) = found.max_by(|(_, a), (_, b)| a.value.total_cmp(&b.value))?;
    let p99_ratio = Estimate { value: 1.0 / best.value, ci: best.ci.map(|ci| ci.map(|end| 1.0 / end)) };
    (p99_ratio.value < 1.0).then_some(Tail { candidate, p99_ratio })
}
