//! Tests the variation that conditions leave unexplained against every recorded covariate.

use super::collect::{self, ConditionTrials};
use super::confidence::FURTHER;
use super::hosts::host;
use super::modes::covariates;
use super::threads::{self, Feature};
use serde::Serialize;
use std::collections::BTreeMap;
use tare_results::metric;
use tare_stats::covariates::{PERMUTATIONS, Shape, explain, neighbours};
use tare_stats::effects::{Cell, residuals};
use tare_topology::Machine;

/// A recorded covariate (migrations, steal, layout ...) that correlates with what conditions do not explain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResidualCause {
    pub covariate: String,
    /// Share of the variance between trials of the same condition that it explains, 0 to 1.
    pub share: f64,
    /// By permutation within conditions, adjusted over all covariates.
    pub p_value: f64,
}

/// A covariate is named if its adjusted p-value is small and it explains at least this share of the variance: less is
/// not worth a search for the cause.
const LEAST_SHARE: f64 = 0.1;
/// Minimum number of trials beyond one per condition.
const FEWEST: usize = 8;
const NAMED: usize = 5;
/// Maximum of trials times permutations, which bounds the run time; with thousands of trials, fewer permutations are
/// enough.
const SHUFFLES: usize = 2_000_000;
/// Minimum number of permutations: with fewer, no p-value of fifty covariates could be significant.
const FEWEST_PERMUTATIONS: usize = 999;
/// Fixed, so that the same results always give the same output.
const SEED: u64 = 1;

/// Covariates that explain the residuals within conditions, averaged over all primary metrics, the best first.
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
    // Slow changes of a covariate and of the machine correlate with each other without being related, and so do their
    // differences between machines. Therefore only neighbouring trials of a machine are compared.
    let order: Vec<(&str, usize)> =
        conditions.iter().flat_map(|condition| &condition.ok).map(|trial| (host(trial), trial.trial)).collect();
    let strata = neighbours(&order);
    let found =
        explain(&response, &groups, &strata, &covariates, Shape::Linear, permutations, SEED).unwrap_or_default();
    let named = found.into_iter().filter(|cause| cause.p_adjusted <= FURTHER && cause.share >= LEAST_SHARE).take(NAMED);
    named.map(|cause| ResidualCause { covariate: cause.name, share: cause.share, p_value: cause.p_adjusted }).collect()
}

/// ln of every trial mean minus its condition's mean, averaged over the primary metrics that all trials have, and the
/// condition index of each trial.
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
        // A metric that a trial lacks, or that has a value of zero, is excluded.
        let Ok((left, of)) = residuals(&cells) else { continue };
        if left.len() == trials {
            sum.iter_mut().zip(left).for_each(|(sum, left)| *sum += left);
            groups = Some(of);
        }
    }
    Some((sum, groups?))
}
