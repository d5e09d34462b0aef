//! What the conditions leave unexplained, tested against everything that was recorded alongside the metrics.

use super::collect::{self, ConditionTrials};
use super::confidence::FURTHER;
use super::modes::covariates;
use super::summary::ResidualCause;
use super::threads::{self, Feature};
use std::collections::BTreeMap;
use tare_results::metric;
use tare_stats::covariates::{PERMUTATIONS, Shape, explain, neighbours};
use tare_stats::effects::{Cell, residuals};
use tare_topology::Machine;

/// A covariate is named when its adjusted p-value is small and it goes with at least this share: less is not worth
/// hunting for.
const LEAST_SHARE: f64 = 0.1;
/// Trials beyond those of the conditions' means below which nothing is tested.
const FEWEST: usize = 8;
const NAMED: usize = 5;
/// Shuffles of a trial over which all permutations of a covariate may go: thousands of trials need no more of them.
const SHUFFLES: usize = 2_000_000;
/// Fewest permutations: below, no p-value of fifty covariates could be shown.
const FEWEST_PERMUTATIONS: usize = 999;
/// Fixed, so that the same results always read the same.
const SEED: u64 = 1;

/// Covariates that explain what is left within conditions, averaged over all primary metrics, the best first.
pub(super) fn causes(conditions: &[ConditionTrials<'_>], machine: Option<&Machine>) -> Vec<ResidualCause> {
    let conditions: Vec<&ConditionTrials<'_>> = conditions.iter().filter(|condition| condition.ok.len() > 1).collect();
    let trials: usize = conditions.iter().map(|condition| condition.ok.len()).sum();
    if trials < conditions.len() + FEWEST {
        return Vec::new();
    }
    let Some((response, groups)) = left_over(&conditions) else { return Vec::new() };
    let features: Vec<BTreeMap<String, Feature>> =
        conditions.iter().flat_map(|condition| &condition.ok).map(|trial| threads::features(trial, machine)).collect();
    let covariates = covariates(&features);
    let permutations = (SHUFFLES / trials).clamp(FEWEST_PERMUTATIONS, PERMUTATIONS);
    // What changes slowly, a covariate or the machine, goes with everything else that does: neighbours are compared.
    let order: Vec<usize> = conditions.iter().flat_map(|condition| &condition.ok).map(|trial| trial.trial).collect();
    let strata = neighbours(&order);
    let found =
        explain(&response, &groups, &strata, &covariates, Shape::Linear, permutations, SEED).unwrap_or_default();
    let named = found.into_iter().filter(|cause| cause.p_adjusted <= FURTHER && cause.share >= LEAST_SHARE).take(NAMED);
    named.map(|cause| ResidualCause { covariate: cause.name, share: cause.share, p_value: cause.p_adjusted }).collect()
}

/// ln of every trial mean less its condition's, averaged over the primary metrics that all trials have, and the number
/// of the condition of each trial.
fn left_over(conditions: &[&ConditionTrials<'_>]) -> Option<(Vec<f64>, Vec<usize>)> {
    let trials: usize = conditions.iter().map(|condition| condition.ok.len()).sum();
    let owned: Vec<ConditionTrials<'_>> = conditions.iter().map(|condition| (*condition).clone()).collect();
    let all = collect::all_metrics(&owned);
    let primary: Vec<&String> = all.iter().filter(|name| metric::describe(name).is_primary()).collect();
    let names = if primary.is_empty() { all.iter().take(1).collect() } else { primary };
    let mut sum = vec![0.0; trials];
    let mut groups = None;
    for name in names {
        let cells: Vec<Cell> =
            conditions.iter().map(|condition| Cell { levels: Vec::new(), trials: condition.means(name) }).collect();
        // A metric that some trial lacks, or that is zero somewhere, cannot take part.
        let Ok((left, of)) = residuals(&cells) else { continue };
        if left.len() == trials {
            sum.iter_mut().zip(left).for_each(|(sum, left)| *sum += left);
            groups = Some(of);
        }
    }
    Some((sum, groups?))
}
