//! Trials of two conditions as pairs: neighbours of one block, of which a draw said which runs first.

use crate::metric;
use crate::schema::{Outcome, Plan, Settle, TrialRecord};
use std::collections::{BTreeMap, BTreeSet};
use tare_stats::descriptive::mean;
use tare_stats::sequential::{Finding, Pair, Question, Verdict, decide};

pub use tare_stats::sequential::Rule;

/// Pairs that may be left out before nothing more is tried: so many, and as many again for each that counts.
const MOST_LEFT_OUT: usize = 5;

/// A pair that counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The block that it is.
    pub block: usize,
    /// The value of A, in the metric's unit.
    pub a: f64,
    /// The value of B, in the metric's unit.
    pub b: f64,
    /// Whether B ran first.
    pub b_first: bool,
}

/// All pairs of a run so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pairs {
    /// The metric that is compared; none as long as no trial has one.
    pub metric: Option<String>,
    /// Those that count, in the order of their blocks.
    pub measured: Vec<Measured>,
    /// Pairs of which a trial gave no usable result.
    pub lost: usize,
    /// Pairs of which a trial was disturbed in every attempt.
    pub disturbed: usize,
    /// Seconds of all attempts together.
    pub elapsed_s: f64,
}

/// What became of a trial that is compared with others of its block.
pub(crate) enum Side {
    /// Its value, and where its record stands among all.
    Value(f64, usize),
    Disturbed,
    Lost,
}

impl Pairs {
    /// The pairs of a plan's blocks whose trials have all ended.
    pub fn of(plan: &Plan, rule: &Settle, records: &[TrialRecord]) -> Self {
        let metric = rule.metric.clone().or_else(|| headline(records));
        // The last attempt counts.
        let last: BTreeMap<usize, usize> = records.iter().enumerate().map(|(at, record)| (record.trial, at)).collect();
        let mut pairs = Self { elapsed_s: records.iter().map(|record| record.elapsed_s).sum(), ..Self::default() };
        let blocks: BTreeSet<usize> = plan.trials.iter().map(|trial| trial.block).collect();
        for block in blocks {
            let side = |name: &str| {
                let planned = plan.trials.iter().find(|t| t.block == block && t.condition == name)?;
                last.get(&planned.trial).map(|at| side(records, *at, metric.as_deref()))
            };
            match (side(&rule.a), side(&rule.b)) {
                (Some(Side::Value(a, a_at)), Some(Side::Value(b, b_at))) => {
                    pairs.measured.push(Measured { block, a, b, b_first: b_at < a_at });
                }
                (Some(Side::Lost), Some(_)) | (Some(_), Some(Side::Lost)) => pairs.lost += 1,
                (Some(_), Some(_)) => pairs.disturbed += 1,
                _ => {}
            }
        }
        pairs.metric = metric;
        pairs
    }

    /// All that have ended, those that are left out too.
    pub fn ended(&self) -> usize {
        self.measured.len() + self.lost + self.disturbed
    }

    /// What they say by a rule.
    pub fn decided(&self, rule: &Settle) -> Option<Look> {
        let pair = |pair: &Measured| Pair { log_ratio: (pair.b / pair.a).ln(), b_first: pair.b_first };
        let pairs: Vec<Pair> = self.measured.iter().map(pair).collect();
        let question = Question { minimum_effect: rule.minimum_effect, alpha: rule.alpha, rule: rule.rule };
        let look = |last: bool| decide(&pairs, &question, last).ok();
        let finding = look(false)?;
        let stop = match finding.verdict {
            Verdict::Changed | Verdict::Equivalent => Some(Stop::Settled),
            Verdict::Undecided => self.stop(rule),
        };
        let finding = if stop.is_some_and(|stop| stop != Stop::Settled) { look(true)? } else { finding };
        Some(Look { finding, stop })
    }

    /// Why no further pair is made although nothing is decided.
    fn stop(&self, rule: &Settle) -> Option<Stop> {
        let (counted, left_out) = (self.measured.len(), self.lost + self.disturbed);
        if rule.rule.most_pairs().is_some_and(|most| counted >= most) {
            return Some(Stop::LastLook);
        }
        if left_out >= MOST_LEFT_OUT + counted {
            return Some(Stop::LeftOut);
        }
        let next_s = self.elapsed_s / self.ended().max(1) as f64;
        rule.budget_s.filter(|budget_s| self.elapsed_s + next_s > *budget_s).map(|_| Stop::Budget)
    }
}

/// Why a comparison stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It is settled.
    Settled,
    /// Its last look is over.
    LastLook,
    /// No further pair fits into the time.
    Budget,
    /// More pairs were lost or disturbed than counted.
    LeftOut,
}

/// What a look at the pairs so far came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Estimate, interval and verdict of the pairs so far.
    pub finding: Finding,
    /// Why no further pair is made; none: one is.
    pub stop: Option<Stop>,
}

/// The first headline metric of what was measured.
pub(crate) fn headline(records: &[TrialRecord]) -> Option<String> {
    let ok = records.iter().filter(|record| record.outcome == Outcome::Ok);
    let names: BTreeSet<&String> = ok.flat_map(|record| &record.samples).flat_map(|s| s.metrics.keys()).collect();
    names.into_iter().min_by_key(|name| metric::describe(name).rank).cloned()
}

pub(crate) fn side(records: &[TrialRecord], at: usize, metric: Option<&str>) -> Side {
    let record = &records[at];
    match (record.outcome, &record.reason) {
        (Outcome::Failed, _) => return Side::Lost,
        (Outcome::Contaminated, _) | (Outcome::Ok, Some(_)) => return Side::Disturbed,
        (Outcome::Ok, None) => {}
    }
    let merged = metric.and_then(|metric| record.of_all_samples.get(metric).copied());
    let value = merged.or_else(|| mean(&record.values(metric?)));
    match value.filter(|value| value.is_finite() && *value > 0.0) {
        Some(value) => Side::Value(value, at),
        None => Side::Lost,
    }
}

#[cfg(test)]
#[path = "pairs_tests.rs"]
mod tests;
