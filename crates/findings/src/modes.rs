//! Detects modes and the covariates that separate them.

use super::collect::ConditionTrials;
use super::collect::host;
use super::confidence::{FURTHER, MODES};
use super::mode::{self, InCommon, Mode, ModeCause, ModeSide, ModesTested};
use super::places::{self, Category, Feature, Property, Shared};
use super::plans::fnv1a;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tare_results::metric;
use tare_results::rounding::of_histogram;
use tare_results::schema::{Plan, PlannedCondition, TrialRecord};
use tare_stats::blocks::Condition;
use tare_stats::covariates::{Association, Covariate, PERMUTATIONS, Values, ranked};
use tare_stats::digits::{last_digit, with_noise};
use tare_stats::modes::{Modes, association, detect, p_value, strata, together};
use tare_stats::multiple::holm;
use tare_stats::{descriptive, mode_power};
use tare_topology::Machine;

/// A covariate is named as a cause if its adjusted p-value is at most this, over all conditions with modes.
const NAMED_BELOW: f64 = 0.05;
/// Fixed, so that the same results always give the same output.
const SEED: u64 = 1;
/// Distance of the modes for which the power is computed, in standard deviations of a mode.
const APART: f64 = 4.0;

/// Whether the mean describes the trials: they have no modes and do not lie far apart.
pub(super) fn has_mean(condition: &ConditionTrials<'_>, name: &str) -> bool {
    let of_one = StudyModes::of(&[condition], &[name.to_owned()], Some(name));
    of_one.get(condition, name).is_none() && mode::far_apart_range(&condition.means(name)).is_none()
}

/// The modes of all metrics of all conditions, tested together.
pub(super) struct StudyModes<'a> {
    found: HashMap<(&'a str, String), Modes>,
    tested: HashMap<String, Tested>,
}

#[derive(Default)]
struct Tested {
    /// Number of trials of each condition that has enough of them.
    trials: Vec<usize>,
    /// Significance level for the most significant cell, the first step of Holm.
    chance: f64,
}

impl<'a> StudyModes<'a> {
    /// Tests these metrics: the primary ones and the headline together at [`MODES`], the others together at
    /// [`FURTHER`].
    pub(super) fn of(conditions: &[&ConditionTrials<'a>], metrics: &[String], headline: Option<&str>) -> Self {
        let mut seen = Self { found: HashMap::new(), tested: HashMap::new() };
        let is_main = |name: &str| metric::describe(name).is_primary() || headline == Some(name);
        for (main, rate) in [(true, MODES), (false, FURTHER)] {
            let mut cells: Vec<(&'a str, &String, Vec<f64>)> = Vec::new();
            let mut chances = Vec::new();
            for name in metrics.iter().filter(|name| is_main(name) == main) {
                for condition in conditions {
                    let values = with_noise_in_last_digit(condition, name);
                    if let Some(p) = p_value(&values) {
                        chances.push(p);
                        cells.push((condition.name, name, values));
                    }
                }
            }
            let first = rate / cells.len().max(1) as f64;
            for ((condition, name, values), p) in cells.into_iter().zip(holm(&chances)) {
                let tested = seen.tested.entry(name.clone()).or_default();
                tested.chance = first;
                tested.trials.push(values.len());
                if let Some(modes) = detect(&values).filter(|_| p <= rate) {
                    seen.found.insert((condition, name.clone()), modes);
                }
            }
        }
        seen
    }

    fn get(&self, condition: &ConditionTrials<'a>, metric: &str) -> Option<&Modes> {
        self.found.get(&(condition.name, metric.to_owned()))
    }

    /// Modes of a metric, in ascending order. Empty if one mode describes the trials.
    pub(super) fn modes(&self, condition: &ConditionTrials<'a>, metric: &str) -> Vec<Mode> {
        let means: Vec<f64> = condition.means(metric);
        self.get(condition, metric).map_or(Vec::new(), |found| described(found, &means))
    }

    /// The number of modes of a metric's trials; 1 if one mode describes them.
    pub(super) fn count(&self, condition: &ConditionTrials<'a>, metric: &str) -> usize {
        self.get(condition, metric).map_or(1, |found| found.modes.len())
    }

    /// The modes of a condition, with their cause if one is shown.
    pub(super) fn with_cause(
        &self,
        condition: &ConditionTrials<'a>,
        metric: &str,
        machine: Option<&Machine>,
        plan: Option<&Plan>,
    ) -> (Vec<Mode>, Option<ModeCause>) {
        let trials = condition.with(metric);
        let means: Vec<f64> = trials.iter().map(|(_, mean)| *mean).collect();
        let Some(found) = self.get(condition, metric) else { return (Vec::new(), None) };
        let records: Vec<&TrialRecord> = trials.iter().map(|(trial, _)| *trial).collect();
        let with_modes = self.found.keys().filter(|(_, name)| name == metric).count();
        let rate = NAMED_BELOW / with_modes.max(1) as f64;
        let planned = plan.and_then(|plan| plan.conditions.iter().find(|planned| planned.name == condition.name));
        let found_in = FoundIn { found, means: &means, seats_are_drawn: planned.is_some_and(seats_are_drawn) };
        (described(found, &means), cause(&found_in, &records, machine, rate))
    }

    /// Whether a metric has modes, with the power of the test. None if nothing could be tested.
    pub(super) fn tested(&self, conditions: &[ConditionTrials<'a>], metric: &str) -> Option<ModesTested> {
        let none = Tested::default();
        let tested = self.tested.get(metric).unwrap_or(&none);
        let left: Vec<Condition> = conditions
            .iter()
            .filter(|c| self.get(c, metric).is_none())
            .map(|c| in_blocks(c, metric))
            .filter(|c| c.len() > 1)
            .collect();
        let several = left.len() > 1;
        let (all, without_blocks) = together(&left, conditions.iter().all(|c| c.blocked));
        let shown = p_value(&all).filter(|p| several && *p <= FURTHER).and_then(|_| detect(&all));
        let sizes: Vec<usize> = left.iter().map(Vec::len).collect();
        let usual = descriptive::median(&tested.trials.iter().map(|n| *n as f64).collect::<Vec<_>>());
        let power_in_one = usual.map(|n| mode_power::of_one(n as usize, APART, tested.chance, SEED));
        // If all conditions have modes, they are detected in any of them alone too.
        let in_any = power_in_one.map_or(0.0, |one| 1.0 - (1.0 - one).powf(tested.trials.len() as f64));
        let power_together = (several && all.len() > 5)
            .then(|| mode_power::of_all(&sizes, APART, without_blocks, FURTHER, SEED).max(in_any));
        (power_in_one.is_some() || power_together.is_some()).then(|| ModesTested {
            metric: metric.to_owned(),
            conditions: tested.trials.len(),
            seen_in: self.found.keys().filter(|(_, name)| name == metric).count(),
            together: shown.map_or(Vec::new(), |found| {
                described(&found, &all).into_iter().map(|mode| Mode { mean: mode.mean.exp(), ..mode }).collect()
            }),
            apart_sd: APART,
            power_in_one,
            power_together,
        })
    }
}

/// The value of each trial, with noise in the last known digit of its samples, so that rounding alone causes no
/// modes.
fn with_noise_in_last_digit(condition: &ConditionTrials<'_>, metric: &str) -> Vec<f64> {
    let trials = condition.with(metric);
    let means: Vec<f64> = trials.iter().map(|(_, mean)| *mean).collect();
    let samples: Vec<f64> = trials.iter().flat_map(|(trial, _)| trial.finite(metric)).collect();
    let digit = last_digit(&samples).into_iter().chain(of_histogram(metric, &means)).reduce(f64::max);
    // The same noise in several conditions would be as many copies of it.
    let seed = || u64::from(fnv1a(&format!("{metric} {}", condition.name)));
    match digit {
        Some(digit) => with_noise(&means, digit, seed()),
        None => means,
    }
}

/// The trials of a condition with their blocks. Logarithms make conditions of different levels comparable; empty if a
/// value is not positive.
fn in_blocks(condition: &ConditionTrials<'_>, metric: &str) -> Condition {
    let values = with_noise_in_last_digit(condition, metric);
    match values.iter().all(|v| *v > 0.0) {
        true => condition.with(metric).iter().zip(values).map(|((trial, _), v)| (trial.block, v.ln())).collect(),
        false => Vec::new(),
    }
}

fn described(found: &Modes, means: &[f64]) -> Vec<Mode> {
    let centres = tare_stats::modes::means(found, means);
    found.modes.iter().zip(centres).map(|(mode, mean)| Mode { mean, weight: mode.weight }).collect()
}

/// The modes of a condition's trials.
struct FoundIn<'m> {
    found: &'m Modes,
    /// The mean of each trial.
    means: &'m [f64],
    seats_are_drawn: bool,
}

/// Whether tare drew at random, for each trial anew, on which CPU each server thread runs next to clients on CPUs of
/// their own.
fn seats_are_drawn(planned: &PlannedCondition) -> bool {
    planned.is_left_to_chance() && planned.placement.as_ref().is_some_and(|placement| !placement.client.is_empty())
}

fn cause(
    FoundIn { found, means, seats_are_drawn }: &FoundIn<'_>,
    trials: &[&TrialRecord],
    machine: Option<&Machine>,
    rate: f64,
) -> Option<ModeCause> {
    let features: Vec<_> = trials.iter().map(|trial| places::features(trial, machine)).collect();
    let order: Vec<(&str, usize)> = trials.iter().map(|trial| (host(trial), trial.trial)).collect();
    // What was drawn at random in each trial is a randomised experiment: whatever states the machine has, and in
    // whatever order they come, only chance makes seats follow them. So all trials of a machine are permuted.
    let is_drawn = |covariate: &Covariate<Property>| *seats_are_drawn && covariate.name.is_of_seats();
    let (drawn, observed): (Vec<_>, Vec<_>) = covariates(&features).into_iter().partition(is_drawn);
    let tested = |strata: &[usize], covariates: &[_]| association(found, strata, covariates, PERMUTATIONS, SEED).ok();
    let all = ranked([tested(&strata(found, &order), &observed)?, tested(&machines(&order), &drawn)?].concat());
    let name = &best(&all, rate)?.name;
    let centres = tare_stats::modes::means(found, means);
    let in_common = |mode: &tare_stats::modes::Mode, name: &Property| {
        in_common(mode.members.iter().filter_map(|index| features.get(*index)?.get(name)))
    };
    // Mean shares of pairs in the trials of each mode, the nearest relation first.
    let pairs: Vec<Vec<(Shared, f64)>> = found
        .modes
        .iter()
        .map(|mode| {
            let mean = |shared| match in_common(mode, &Property::Pairs(shared)) {
                InCommon::Number(mean) => Some((shared, mean)),
                _ => None,
            };
            Shared::ALL.into_iter().filter_map(mean).collect()
        })
        .collect();
    let sides = found.modes.iter().enumerate().zip(centres).map(|((side, mode), centre)| {
        let in_common = match name {
            Property::Pairs(shared) => nearness(&pairs, side, *shared),
            _ => in_common(mode, name),
        };
        ModeSide { in_common, mean: centre }
    });
    Some(ModeCause { covariate: name.clone(), sides: sides.collect() })
}

/// The number of the machine of each trial.
fn machines(order: &[(&str, usize)]) -> Vec<usize> {
    let names: BTreeSet<&str> = order.iter().map(|(machine, _)| *machine).collect();
    order.iter().map(|(machine, _)| names.iter().position(|name| name == machine).unwrap_or(0)).collect()
}

/// The most informative relation of the pairs of a mode, of all relations in which the modes differ: the nearest that
/// every pair has, else the widest that none has, else the share that the test named.
fn nearness(modes: &[Vec<(Shared, f64)>], side: usize, named: Shared) -> InCommon {
    let differs = |relation: Shared| {
        let of =
            modes.iter().map(|shares| shares.iter().find(|(known, _)| *known == relation).map(|(_, share)| *share));
        let values: Vec<f64> = of.flatten().collect();
        values.iter().any(|value| (value - values[0]).abs() > 1e-9)
    };
    let shares: Vec<(Shared, f64)> =
        modes.get(side).into_iter().flatten().copied().filter(|(relation, _)| differs(*relation)).collect();
    let all = shares.iter().find(|(_, share)| *share >= 1.0 - 1e-9);
    let none = || shares.iter().rev().find(|(_, share)| *share <= 1e-9);
    let own = || shares.iter().find(|(known, _)| *known == named);
    match all.or_else(none).or_else(own) {
        Some((relation, share)) => InCommon::Pairs { relation: *relation, share: *share },
        None => InCommon::Unknown,
    }
}

/// The strongest shown association; among equally strong ones, the position of threads that says most.
fn best(ranked: &[Association<Property>], rate: f64) -> Option<&Association<Property>> {
    let shown = || ranked.iter().filter(|found| found.p_adjusted <= rate);
    let most = shown().map(|found| found.share).fold(0.0, f64::max);
    let equal = || shown().filter(|found| found.share >= most - 1e-9);
    let positions = equal().filter(|found| found.name <= Property::FullestNode);
    positions.min_by_key(|found| &found.name).or_else(|| equal().next())
}

fn in_common<'f>(values: impl Iterator<Item = &'f Feature>) -> InCommon {
    let (mut numbers, mut categories) = (Vec::new(), Vec::new());
    for value in values {
        match value {
            Feature::Number(number) => numbers.push(*number),
            Feature::Category(category) => categories.push(category),
        }
    }
    if let Some(mean) = descriptive::mean(&numbers) {
        return InCommon::Number(mean);
    }
    let mut counts: Vec<(&Category, usize)> = Vec::new();
    for category in &categories {
        match counts.iter_mut().find(|(known, _)| known == category) {
            Some((_, count)) => *count += 1,
            None => counts.push((category, 1)),
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map_or(InCommon::Unknown, |(category, trials)| {
        InCommon::Category { category: category.clone(), trials, of: categories.len() }
    })
}

/// The properties of the trials, without those that never vary or that equal an earlier one.
pub(super) fn covariates(features: &[BTreeMap<Property, Feature>]) -> Vec<Covariate<Property>> {
    let names: BTreeSet<&Property> = features.iter().flat_map(BTreeMap::keys).collect();
    let mut partitions = BTreeSet::new();
    names
        .into_iter()
        .filter_map(|name| {
            let values: Vec<Option<&Feature>> = features.iter().map(|trial| trial.get(name)).collect();
            // Every further covariate makes the others less significant. One that never varies explains nothing, and
            // one that divides the trials like an earlier one (for example for each thread of a pair) adds nothing.
            let partition = partition(&values);
            let is_informative = partition.iter().any(|group| *group > 0) && partitions.insert(partition.clone());
            is_informative.then(|| Covariate { name: name.clone(), values: as_values(&values, &partition) })
        })
        .collect()
}

/// How the values divide the trials: numbers by rank, categories by first appearance.
fn partition(values: &[Option<&Feature>]) -> Vec<usize> {
    let numbers: Vec<f64> = values.iter().filter_map(|value| value.and_then(number)).collect();
    if numbers.len() == values.len() {
        let mut sorted = numbers.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.dedup();
        return numbers.iter().map(|x| sorted.partition_point(|y| y < x)).collect();
    }
    let mut distinct: Vec<Option<&Feature>> = Vec::new();
    values
        .iter()
        .map(|value| match distinct.iter().position(|known| known == value) {
            Some(group) => group,
            None => {
                distinct.push(*value);
                distinct.len() - 1
            }
        })
        .collect()
}

fn as_values(values: &[Option<&Feature>], partition: &[usize]) -> Values {
    if values.iter().flatten().all(|feature| matches!(feature, Feature::Number(_))) {
        return Values::Numeric(values.iter().map(|value| value.and_then(number)).collect());
    }
    let groups = values.iter().zip(partition);
    Values::Categorical(groups.map(|(value, group)| value.map(|_| group.to_string())).collect())
}

fn number(feature: &Feature) -> Option<f64> {
    match feature {
        Feature::Number(value) => Some(*value),
        Feature::Category(_) => None,
    }
}
