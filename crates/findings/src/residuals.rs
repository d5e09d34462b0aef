//! What conditions leave unexplained: outlying trials, correlation of consecutive trials, and the variation that a
//! covariate explains.

use super::collect::{self, ConditionTrials, host};
use super::composite::Composite;
use super::confidence::{self, CONFIDENCE, FURTHER};
use super::modes::covariates;
use super::places::{self, Property, covariate_means};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use tare_results::metric;
use tare_results::schema::TrialRecord;
use tare_stats::covariates::{PERMUTATIONS, Shape, explain, neighbours};
use tare_stats::descriptive::{self, mean};
use tare_stats::effects::{Cell, residuals};
use tare_stats::multiple::holm;
use tare_stats::outliers::{Outlier as Far, farthest};
use tare_stats::trials::mean_interval;
use tare_stats::{Interval, serial};
use tare_topology::Machine;

const UNUSUAL_NAMED: usize = 3;
/// A covariate is named if it lies this many times its usual spread from its usual value.
const FAR: f64 = 5.0;

/// A trial that lies far from the others of its condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outlier {
    pub condition: String,
    pub trial: usize,
    pub attempt: u32,
    pub metric: String,
    /// The trial's mean of that metric.
    pub value: f64,
    pub mean_without: f64,
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    /// Its log within the results directory; null for trials of a CSV file.
    pub log: Option<String>,
    /// Covariates that are far from those of the other trials: name, its value, their mean.
    pub unusual: Vec<(String, f64, f64)>,
}

/// The outlying trials of all conditions in these metrics, tested together; for each trial the first metric in which
/// it is an outlier.
pub(super) fn outliers(conditions: &[ConditionTrials<'_>], metrics: &[String]) -> Vec<Outlier> {
    let cells: Vec<(&ConditionTrials<'_>, &String, Far)> = conditions
        .iter()
        .flat_map(|condition| metrics.iter().map(move |metric| (condition, metric)))
        .filter_map(|(condition, metric)| {
            let means: Vec<f64> = condition.means(metric);
            Some((condition, metric, farthest(&means)?))
        })
        .collect();
    let adjusted = holm(&cells.iter().map(|(.., far)| far.p_value).collect::<Vec<_>>());
    let mut found: Vec<Outlier> = Vec::new();
    for ((condition, metric, far), _) in cells.iter().zip(adjusted).filter(|(_, p)| *p <= FURTHER) {
        let outlier = outliers_of(condition, metric, far.index);
        let known = |o: &Outlier| found.iter().any(|f| f.condition == o.condition && f.trial == o.trial);
        found.extend(outlier.filter(|o| !known(o)));
    }
    found
}

fn outliers_of(condition: &ConditionTrials<'_>, metric: &str, index: usize) -> Option<Outlier> {
    let trials = condition.with(metric);
    let (trial, value) = trials.get(index)?;
    let without: Vec<f64> =
        trials.iter().enumerate().filter(|(place, _)| *place != index).map(|(_, (_, mean))| *mean).collect();
    let others: Vec<&TrialRecord> = trials.iter().map(|(other, _)| *other).filter(|o| o.trial != trial.trial).collect();
    Some(Outlier {
        condition: condition.name.to_owned(),
        trial: trial.trial,
        attempt: trial.attempt,
        metric: metric.to_owned(),
        value: *value,
        mean_without: mean(&without)?,
        ci: mean_interval(&without, CONFIDENCE),
        log: condition.blocked.then(|| trial.log()),
        unusual: unusual(trial, &others),
    })
}

fn unusual(trial: &TrialRecord, others: &[&TrialRecord]) -> Vec<(String, f64, f64)> {
    let all: Vec<BTreeMap<String, f64>> = others.iter().map(|other| covariate_means(&other.samples)).collect();
    let mut found: Vec<(f64, (String, f64, f64))> = covariate_means(&trial.samples)
        .into_iter()
        .filter_map(|(name, own)| {
            let usual: Vec<f64> = all.iter().filter_map(|other| other.get(&name).copied()).collect();
            let (mean, spread) = (mean(&usual)?, descriptive::std_dev(&usual)?);
            let far = (own - mean).abs() / spread.max(1e-3 * mean.abs()).max(f64::MIN_POSITIVE);
            (far > FAR).then_some((far, (name, own, mean)))
        })
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().take(UNUSUAL_NAMED).map(|(_, named)| named).collect()
}

/// Fixed, so that the same results always give the same output.
pub(super) const SEED: u64 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Drift {
    /// Correlation of a trial with the previous one, without the effects of conditions; 0 if there is none.
    pub correlation: f64,
    /// Probability of such a correlation without any effect of the order.
    pub p_value: f64,
    /// Relative change from the first to the last third of the run.
    pub change: Option<f64>,
    pub trials: usize,
}

impl Drift {
    /// Whether consecutive trials are shown to be correlated.
    pub fn shown(&self) -> bool {
        self.p_value <= FURTHER
    }
}

/// By machine, the residual of each trial after the effects of conditions there, in the order of the run, with the
/// number of its condition.
pub(super) fn residuals_by_machine(
    conditions: &[ConditionTrials<'_>],
    composite: &Composite,
) -> Vec<Vec<(usize, f64)>> {
    let left = in_order(conditions, composite);
    let machines = left.chunk_by(|((one, ..), _), ((other, ..), _)| one == other);
    machines.map(|own| own.iter().map(|((.., number), residual)| (*number, *residual)).collect()).collect()
}

/// The machine of a trial, its number and attempt, and the number of its condition.
type Place<'m> = (&'m str, usize, u32, usize);

/// The residual of each trial after the effects of conditions on its machine, in the order of the run, one machine
/// after the other.
fn in_order<'r>(conditions: &[ConditionTrials<'r>], composite: &Composite) -> Vec<(Place<'r>, f64)> {
    let mut left: Vec<(Place<'r>, f64)> = Vec::new();
    for (number, condition) in conditions.iter().enumerate() {
        let mut machines: BTreeMap<&str, Vec<(Place<'r>, f64)>> = BTreeMap::new();
        for (trial, (_, ln)) in composite.trials(number, condition) {
            let own = host(trial);
            machines.entry(own).or_default().push(((own, trial.trial, trial.attempt, number), ln));
        }
        for own in machines.into_values() {
            let Some(centre) = mean(&own.iter().map(|(_, ln)| *ln).collect::<Vec<_>>()) else { continue };
            left.extend(own.into_iter().map(|(place, ln)| (place, ln - centre)));
        }
    }
    left.sort_by_key(|(place, _)| *place);
    left
}

/// The check of one run; none if the order of its trials is unknown, or there are too few. Machines that share a study
/// are checked together, each trial against the one before it on its machine: a machine that is faster than the others
/// does not drift.
pub(super) fn run_order(conditions: &[ConditionTrials<'_>], composite: &Composite) -> Option<Drift> {
    let left = in_order(conditions, composite);
    let machines: BTreeSet<&str> = left.iter().map(|((machine, ..), _)| *machine).collect();
    let of_machine: BTreeMap<&str, usize> =
        machines.iter().enumerate().map(|(at, machine)| (*machine, at * conditions.len())).collect();
    let numbered = |((machine, .., number), ln): &(Place<'_>, f64)| Some((of_machine.get(machine)? + number, *ln));
    let series: Vec<(usize, f64)> = left.iter().filter_map(numbered).collect();
    let found = serial::run_order_of(&series, SEED)?;
    // Machines run at the same time, so the trials of several have no first and last third.
    let levels: Vec<f64> = if machines.len() == 1 { left.iter().map(|(_, ln)| ln.exp()).collect() } else { Vec::new() };
    Some(Drift {
        correlation: found.correlation,
        p_value: found.p_value,
        change: serial::drift(&levels),
        trials: found.trials,
    })
}

/// A property of trials (migrations, steal, layout ...) that correlates with what conditions do not explain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResidualCause {
    pub covariate: Property,
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
const CAUSES_NAMED: usize = 5;
/// Maximum of trials times permutations, which bounds the run time; with thousands of trials, fewer permutations are
/// enough.
const SHUFFLES: usize = 2_000_000;
/// Minimum number of permutations: with fewer, no p-value of fifty covariates could be significant.
const FEWEST_PERMUTATIONS: usize = 999;

/// Covariates that explain the residuals within conditions, averaged over all primary metrics, the best first.
pub(super) fn causes(conditions: &[ConditionTrials<'_>], machine: Option<&Machine>) -> Vec<ResidualCause> {
    let conditions: Vec<&ConditionTrials<'_>> = conditions.iter().filter(|condition| condition.ok.len() > 1).collect();
    let trials: usize = conditions.iter().map(|condition| condition.ok.len()).sum();
    if trials < conditions.len() + FEWEST {
        return Vec::new();
    }
    let Some((response, groups)) = left_over(&conditions) else { return Vec::new() };
    let features: Vec<_> =
        conditions.iter().flat_map(|condition| &condition.ok).map(|trial| places::features(trial, machine)).collect();
    let covariates = covariates(&features);
    let permutations = (SHUFFLES / trials).clamp(FEWEST_PERMUTATIONS, PERMUTATIONS);
    // Slow changes of a covariate and of the machine correlate with each other without being related, and so do their
    // differences between machines. Therefore only neighbouring trials of a machine are compared.
    let order: Vec<(&str, usize)> =
        conditions.iter().flat_map(|condition| &condition.ok).map(|trial| (host(trial), trial.trial)).collect();
    let strata = neighbours(&order);
    let found =
        explain(&response, &groups, &strata, &covariates, Shape::Linear, permutations, SEED).unwrap_or_default();
    let named =
        found.into_iter().filter(|cause| cause.p_adjusted <= FURTHER && cause.share >= LEAST_SHARE).take(CAUSES_NAMED);
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
