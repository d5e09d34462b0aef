//! Two modes and what tells them apart.

use super::collect::ConditionTrials;
use super::mode::{InCommon, Mode, ModeCause, ModeSide};
use super::threads::{self, Feature, PAIRS};
use std::collections::{BTreeMap, BTreeSet};
use tare_results::schema::TrialRecord;
use tare_stats::covariates::{Association, Covariate, PERMUTATIONS, Values};
use tare_stats::modes::{Modes, association, detect};
use tare_topology::Machine;

/// A covariate is named as a cause when its adjusted p-value is at most this.
const NAMED_BELOW: f64 = 0.05;
/// Fixed, so that the same results always read the same.
const SEED: u64 = 1;

/// Modes of a metric, lower first. Empty when one mode describes the trials.
pub(super) fn find(condition: &ConditionTrials<'_>, metric: &str) -> Vec<Mode> {
    let means: Vec<f64> = condition.with(metric).iter().map(|(_, mean)| *mean).collect();
    detect(&means).map_or(Vec::new(), |found| described(&found, &means))
}

fn described(found: &Modes, means: &[f64]) -> Vec<Mode> {
    let centres = tare_stats::modes::means(found, means);
    found.modes.iter().zip(centres).map(|(mode, mean)| Mode { mean, weight: mode.weight }).collect()
}

/// The modes of a condition, with their cause where one is shown.
pub(super) fn with_cause(
    condition: &ConditionTrials<'_>,
    metric: &str,
    machine: Option<&Machine>,
) -> (Vec<Mode>, Option<ModeCause>) {
    let trials = condition.with(metric);
    let means: Vec<f64> = trials.iter().map(|(_, mean)| *mean).collect();
    let Some(found) = detect(&means) else { return (Vec::new(), None) };
    let modes = described(&found, &means);
    let records: Vec<&TrialRecord> = trials.iter().map(|(trial, _)| *trial).collect();
    (modes, cause((&found, &means), &records, machine))
}

/// Into how many modes a metric's trials fall; 1 where one describes them.
pub(super) fn count(condition: &ConditionTrials<'_>, metric: &str) -> usize {
    let means: Vec<f64> = condition.with(metric).iter().map(|(_, mean)| *mean).collect();
    detect(&means).map_or(1, |found| found.modes.len())
}

fn cause((found, means): (&Modes, &[f64]), trials: &[&TrialRecord], machine: Option<&Machine>) -> Option<ModeCause> {
    let features: Vec<BTreeMap<String, Feature>> =
        trials.iter().map(|trial| threads::features(trial, machine)).collect();
    let mut covariates = covariates(&features);
    // Where the modes follow the order of the run, so does every number that drifts: then only words say something.
    let order = Values::Numeric(trials.iter().map(|trial| Some(trial.trial as f64)).collect());
    let order = [Covariate { name: "order".to_owned(), values: order }];
    let drifted = association(found, &order, PERMUTATIONS, SEED).ok()?.iter().any(|o| o.p_value <= NAMED_BELOW);
    covariates.retain(|covariate| !drifted || matches!(covariate.values, Values::Categorical(_)));
    let ranked = association(found, &covariates, PERMUTATIONS, SEED).ok()?;
    let name = &best(&ranked)?.name;
    let centres = tare_stats::modes::means(found, means);
    let sides = found.modes.iter().zip(centres).map(|(mode, centre)| {
        let values: Vec<&Feature> = mode.members.iter().filter_map(|index| features.get(*index)?.get(name)).collect();
        ModeSide { in_common: in_common(&values), mean: centre }
    });
    Some(ModeCause { covariate: name.clone(), sides: sides.collect() })
}

/// The best shown association; among equally good ones how pairs sat, which says the most.
fn best(ranked: &[Association]) -> Option<&Association> {
    let shown: Vec<&Association> = ranked.iter().filter(|found| found.p_adjusted <= NAMED_BELOW).collect();
    let most = shown.iter().map(|found| found.share).fold(0.0, f64::max);
    let equal = shown.iter().filter(|found| found.share >= most - 1e-9);
    equal.clone().find(|found| found.name == PAIRS).or_else(|| equal.clone().next()).copied()
}

/// What the trials of one mode have in common.
fn in_common(values: &[&Feature]) -> InCommon {
    let numbers: Vec<f64> =
        values.iter().filter_map(|f| if let Feature::Number(x) = f { Some(*x) } else { None }).collect();
    if !numbers.is_empty() {
        return InCommon::Number(numbers.iter().sum::<f64>() / numbers.len() as f64);
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for value in values {
        if let Feature::Word(word) = value {
            *counts.entry(word).or_default() += 1;
        }
    }
    counts.iter().max_by_key(|(_, count)| **count).map_or(InCommon::Unknown, |(word, count)| InCommon::Word {
        word: (*word).to_owned(),
        trials: *count,
        of: values.len(),
    })
}

/// What was recorded of each trial as covariates, without those that never vary or that say the same as another one.
pub(super) fn covariates(features: &[BTreeMap<String, Feature>]) -> Vec<Covariate> {
    let mut names: Vec<&String> =
        features.iter().flat_map(BTreeMap::keys).collect::<BTreeSet<_>>().into_iter().collect();
    names.sort_by_key(|name| name.as_str() != PAIRS);
    let mut partitions = BTreeSet::new();
    names
        .into_iter()
        .filter_map(|name| {
            let values: Vec<Option<&Feature>> = features.iter().map(|trial| trial.get(name)).collect();
            // Every covariate costs the others significance. One that never varies cannot explain anything, and one
            // that divides the trials as an earlier one does (each thread of a pair, say) explains nothing more.
            let partition = partition(&values);
            let tells = partition.iter().any(|group| *group > 0) && partitions.insert(partition);
            tells.then(|| Covariate { name: name.clone(), values: as_values(&values) })
        })
        .collect()
}

/// How the values divide the trials: numbers by their ranks, for they have an order; words by first appearance.
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

fn as_values(values: &[Option<&Feature>]) -> Values {
    if values.iter().flatten().all(|feature| matches!(feature, Feature::Number(_))) {
        Values::Numeric(values.iter().map(|value| value.and_then(number)).collect())
    } else {
        Values::Categorical(values.iter().map(|value| value.and_then(word)).collect())
    }
}

fn number(feature: &Feature) -> Option<f64> {
    match feature {
        Feature::Number(value) => Some(*value),
        Feature::Word(_) => None,
    }
}

fn word(feature: &Feature) -> Option<String> {
    match feature {
        Feature::Word(word) => Some(word.clone()),
        Feature::Number(_) => None,
    }
}
