//! A step of a grid of ladders, over all ladders of one load: what more nodes, caches or threads give on average, and
//! the ladders that are exceptions.

use super::collect::ConditionTrials;
use super::confidence::{self, CONFIDENCE};
use super::factors::{Ladder, ladders, load_of, number};
use super::rounding;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use tare_results::schema::Levels;
use tare_stats::Interval;
use tare_stats::multiple::holm;
use tare_stats::pooled::{self as stats, LadderStep, StepOfLadders};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PooledStep {
    /// `nodes`, `caches` or `threads`.
    pub over: String,
    /// The load, if several were measured.
    pub load: Option<String>,
    pub from: f64,
    pub to: f64,
    /// Geometric mean of after / before, over the ladders that are no exception.
    pub ratio: f64,
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    pub ladders: usize,
    /// Whether a larger number is shown to give less.
    pub less: bool,
    /// Ladders on which the step is shown to differ.
    pub exceptions: Vec<StepExceptions>,
}

/// Ladders on which a step differs from the other ladders.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepExceptions {
    /// Levels that these ladders share and at least one other ladder lacks.
    pub levels: Levels,
    /// The number of threads from which on the exception holds; none for single numbers, which `levels` contains.
    pub from_threads: Option<f64>,
    /// Number of ladders with these levels.
    pub ladders: usize,
    /// The smallest and the largest after / before on these ladders.
    pub ratio: (f64, f64),
}

impl PooledStep {
    /// The claim without its figures.
    pub(super) fn claim(&self) -> (Option<&str>, f64, f64, bool, usize) {
        let exceptions = self.exceptions.iter().map(|found| found.ladders).sum();
        (self.load.as_deref(), self.from, self.to, self.less, exceptions)
    }

    pub fn is_claim(&self) -> bool {
        self.less || !self.exceptions.is_empty()
    }

    /// The ratio of perfect scaling; none for threads, of which there may be more than CPUs.
    pub fn possible(&self) -> Option<f64> {
        (self.over != "threads").then(|| self.to / self.from)
    }
}

/// The factors over which ladders are pooled, the main question of a grid first.
const OVER: [&str; 3] = ["nodes", "caches", "threads"];
/// The factor whose high levels may have an effect of their own.
const FROM: &str = "threads";

/// With fewer ladders, none can be called an exception.
const FEW: usize = 4;
/// P-value below which so few ladders have no common step.
const DIFFER: f64 = 0.01;

/// All steps that several ladders have, over the first factor of [`OVER`] that has any. `rate` is the probability
/// that any step is reported to give less although none does, and separately that any ladder is wrongly called an
/// exception; of it, the steps of a load have the part `weight`. Two or three ladders that differ have no exceptions:
/// each is answered separately.
pub(super) fn steps(
    conditions: &[ConditionTrials<'_>],
    metric: &str,
    rate: f64,
    weight: impl Fn(Option<&String>) -> f64,
) -> Vec<PooledStep> {
    let all = ladders(conditions);
    OVER.into_iter()
        .map(|over| {
            let own: Vec<&Ladder<'_, '_>> = all.iter().filter(|ladder| ladder.over == over).collect();
            steps_over(&own, metric, rate, &weight)
        })
        .find(|steps| !steps.is_empty())
        .unwrap_or_default()
}

/// Load, and the numbers before and after.
type Key = (Option<String>, u64, u64);

fn steps_over(
    ladders: &[&Ladder<'_, '_>],
    metric: &str,
    rate: f64,
    weight: &dyn Fn(Option<&String>) -> f64,
) -> Vec<PooledStep> {
    let loads: BTreeSet<&String> = ladders.iter().filter_map(|ladder| load_of(&ladder.levels)).collect();
    let mut groups: BTreeMap<Key, Vec<(&Ladder<'_, '_>, LadderStep)>> = BTreeMap::new();
    for ladder in ladders {
        let mut rungs: Vec<_> = ladder.rungs.iter().filter(|(_, rung)| rung.blocked).collect();
        rungs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let load = load_of(&ladder.levels).filter(|_| loads.len() > 1).cloned();
        for pair in rungs.windows(2) {
            let both = [pair[0].1, pair[1].1];
            let step = LadderStep { blocks: differences(both, metric), rounding: rounding::of_logarithm(both, metric) };
            if step.blocks.len() >= 2 {
                let key = (load.clone(), pair[0].0.to_bits(), pair[1].0.to_bits());
                groups.entry(key).or_default().push((ladder, step));
            }
        }
    }
    let fewest = if groups.values().any(|steps| steps.len() >= FEW) { FEW } else { 2 };
    groups.retain(|_, steps| steps.len() >= fewest);
    let given = groups.values().map(|steps| StepOfLadders {
        ladders: steps.iter().map(|(_, step)| step.clone()).collect(),
        shared: shares_servers(steps),
    });
    let given: Vec<StepOfLadders> = given.collect();
    let weights: Vec<f64> = groups.keys().map(|(load, ..)| weight(load.as_ref())).collect();
    // All steps are estimated together, whatever part of the rate they have.
    let mut by_weight: Vec<(f64, Vec<Option<stats::PooledStep>>)> = Vec::new();
    for part in &weights {
        if by_weight.iter().all(|(known, _)| known.total_cmp(part).is_ne()) {
            by_weight.push((*part, stats::pooled_steps(&given, CONFIDENCE, rate * part)));
        }
    }
    let mut of = |place: usize| {
        let own = by_weight.iter_mut().find(|(part, _)| part.total_cmp(&weights[place]).is_eq())?;
        own.1[place].take().map(|step| stats::PooledStep { p_less: (step.p_less / weights[place]).min(1.0), ..step })
    };
    let found: Vec<(&Key, &Vec<_>, stats::PooledStep)> =
        groups.iter().enumerate().filter_map(|(place, (key, steps))| Some((key, steps, of(place)?))).collect();
    if found.iter().any(|(_, steps, step)| steps.len() < FEW && step.p_alike < DIFFER) {
        return Vec::new();
    }
    let less = holm(&found.iter().map(|(_, _, step)| step.p_less).collect::<Vec<_>>());
    let made = found.iter().zip(less).map(|(((load, from, to), steps, step), p_value)| {
        let levels: Vec<&Levels> = steps.iter().map(|(ladder, _)| &ladder.levels).collect();
        PooledStep {
            over: steps[0].0.over.to_owned(),
            load: load.clone(),
            from: f64::from_bits(*from),
            to: f64::from_bits(*to),
            ratio: step.ratio.value,
            ci: step.ratio.ci,
            ladders: step.ladders,
            less: p_value <= rate,
            exceptions: exceptions(&levels, &step.exceptions),
        }
    });
    made.collect()
}

/// ln(after / before) of every block that both have.
fn differences([before, after]: [&ConditionTrials<'_>; 2], metric: &str) -> Vec<(usize, f64)> {
    let before: BTreeMap<usize, f64> = before.numbered(metric).into_iter().filter(|(_, value)| *value > 0.0).collect();
    let after = after.numbered(metric).into_iter().filter(|(_, value)| *value > 0.0);
    after.filter_map(|(block, value)| Some((block, (value / before.get(&block)?).ln()))).collect()
}

/// Whether ladders of a block ran on one server.
fn shares_servers(steps: &[(&Ladder<'_, '_>, LadderStep)]) -> bool {
    let rungs = steps.iter().flat_map(|(ladder, _)| &ladder.rungs);
    rungs.flat_map(|(_, rung)| &rung.ok).any(|trial| trial.lifetime.is_some())
}

/// One rule if a rule names exactly these ladders, else each ladder separately.
fn exceptions(all: &[&Levels], found: &[stats::Exception]) -> Vec<StepExceptions> {
    if let Some(rule) = rule(all, found) {
        return vec![rule];
    }
    let alone = found.iter().map(|exception| StepExceptions {
        levels: shared_levels(all, &[all[exception.ladder]]),
        from_threads: None,
        ladders: 1,
        ratio: (exception.ratio.value, exception.ratio.value),
    });
    alone.collect()
}

/// "Only zipfian, from 256 threads": what several exceptions have in common and no other ladder has.
fn rule(all: &[&Levels], found: &[stats::Exception]) -> Option<StepExceptions> {
    if found.len() < 2 {
        return None;
    }
    let places: BTreeSet<usize> = found.iter().map(|exception| exception.ladder).collect();
    let own: Vec<&Levels> = places.iter().map(|place| all[*place]).collect();
    let levels = shared_levels(all, &own);
    let threads = |levels: &Levels| levels.get(FROM).and_then(|level| number(level));
    let from =
        own.iter().map(|levels| threads(levels)).collect::<Option<Vec<f64>>>().filter(|_| !levels.contains_key(FROM));
    let from = from.map(|numbers| numbers.into_iter().fold(f64::INFINITY, f64::min));
    let is_named = |other: &Levels| {
        let has_all = levels.iter().all(|(factor, level)| other.get(factor) == Some(level));
        has_all && from.is_none_or(|from| threads(other).is_some_and(|number| number >= from))
    };
    let named: BTreeSet<usize> = (0..all.len()).filter(|place| is_named(all[*place])).collect();
    let ratios = || found.iter().map(|exception| exception.ratio.value);
    (named == places).then(|| StepExceptions {
        levels,
        from_threads: from,
        ladders: places.len(),
        ratio: (ratios().fold(f64::INFINITY, f64::min), ratios().fold(0.0, f64::max)),
    })
}

/// The levels that these ladders share and at least one other ladder lacks.
fn shared_levels(all: &[&Levels], own: &[&Levels]) -> Levels {
    let Some(first) = own.first() else { return Levels::new() };
    let everywhere =
        |factor: &str, level: &str, of: &[&Levels]| of.iter().all(|l| l.get(factor).is_some_and(|x| x == level));
    let kept = first.iter().filter(|(factor, level)| everywhere(factor, level, own) && !everywhere(factor, level, all));
    kept.map(|(factor, level)| (factor.clone(), level.clone())).collect()
}
