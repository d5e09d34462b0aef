//! The spread between trials of a condition: its components, the factors that make trials differ, and differences
//! that occur by chance alone.

use super::collect::{self, ConditionTrials};
use super::condition::{Components, MetricSummary, Spread};
use super::factors::TermFactor;
use super::mode::Mode;
use super::{confidence, modes};
use serde::{Serialize, Serializer};
use std::collections::BTreeSet;
use tare_results::metric;
use tare_results::unit::Unit;
use tare_stats::components::of_trials;
use tare_stats::trials::average_and_largest;
use tare_stats::{Interval, Trials};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpreadSources {
    pub ranking: Vec<SpreadSource>,
    /// Share of the variance that remains with every shown factor at its quiet level.
    pub unexplained: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpreadSource {
    /// The term of the factor's effects.
    #[serde(rename = "factor", serialize_with = "factor_of")]
    pub term: TermFactor,
    /// Whether the noisy level is the one that effects name first.
    #[serde(skip)]
    pub noisy_is_high: bool,
    pub noisy_level: String,
    pub quiet_level: String,
    /// Ratio of the between-trial CoVs, noisy level to quiet one, over all primary metrics together.
    pub spread_ratio: f64,
    #[serde(flatten, serialize_with = "confidence::spread_ci")]
    pub spread_ci: Option<Interval>,
    /// Share of the between-trial variance that disappears at the quiet level; 0 unless shown.
    pub share: f64,
    /// Adjusted for the number of factors.
    pub p_value: f64,
    pub shown: bool,
}

fn factor_of<S: Serializer>(term: &TermFactor, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&term.factor())
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpreadFrom {
    pub sources: Vec<ShownSource>,
    /// Share of the variance that remains with every source at its quiet level.
    pub unexplained: f64,
    /// The difference that arises by chance within the condition whose trials differ most; none with one trial each.
    pub by_chance: Option<ByChance>,
}

/// Differences between the trials of one condition, with identical settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ByChance {
    pub condition: String,
    /// Means of the modes in ascending order; without modes, the minimum and maximum of the trials.
    pub means: Vec<f64>,
    pub are_modes: bool,
    pub unit: Unit,
}

/// A factor that is shown to make trials vary more.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShownSource {
    pub factor: String,
    pub levels: usize,
    pub noisy_level: String,
    pub quiet_level: String,
    /// Share of the variance between trials that disappears at its quiet level.
    pub share: f64,
}

impl SpreadFrom {
    /// The sources, and the condition whose trials differ most by chance; by how much is not part of the claim.
    pub(super) fn claim(&self) -> (BTreeSet<[&str; 3]>, Option<(&str, bool)>) {
        let sources = self
            .sources
            .iter()
            .map(|source| [source.factor.as_str(), source.noisy_level.as_str(), source.quiet_level.as_str()]);
        (sources.collect(), self.by_chance.as_ref().map(|chance| (chance.condition.as_str(), chance.are_modes)))
    }
}

/// Variance components of nested samples (outer = trials); none with fewer than two trials or a mean of 0.
pub(super) fn components(trials: &[Vec<f64>]) -> Option<Components> {
    let covs = of_trials(Trials::new(trials).ok()?).ok()?.covs()?;
    match covs.as_slice() {
        [within, between] => {
            let repeated = trials.iter().any(|samples| samples.len() > 1);
            Some(Components { within_cov: repeated.then_some(*within), between_cov: *between })
        }
        _ => None,
    }
}

/// The article's measure of one metric: (max - min) / min of the trial means. None with fewer than two trials.
fn range(metric: &MetricSummary) -> Option<f64> {
    let range = (metric.max - metric.min) / metric.min;
    (metric.trials > 1 && metric.min > 0.0 && range.is_finite()).then_some(range)
}

pub(super) fn spreads(metrics: &[MetricSummary]) -> Option<Spread> {
    let primary: Vec<(&MetricSummary, f64, f64)> = metrics
        .iter()
        .filter(|metric| metric::describe(&metric.name).is_primary())
        .filter_map(|metric| Some((metric, range(metric)?, metric.between_cov?)))
        .collect();
    let ranges: Vec<f64> = primary.iter().map(|(_, range, _)| *range).collect();
    let between: Vec<f64> = primary.iter().map(|(.., cov)| *cov).collect();
    let within: Vec<f64> = primary.iter().filter_map(|(metric, ..)| metric.within_cov).collect();
    let (range_average, range_largest) = average_and_largest(&ranges)?;
    let (between_cov_average, between_cov_largest) = average_and_largest(&between)?;
    let within = average_and_largest(&within);
    let largest = primary.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(Spread {
        metrics: primary.len(),
        range_average,
        range_largest,
        range_largest_metric: largest.0.name.clone(),
        between_cov_average,
        between_cov_largest,
        within_cov_average: within.map(|within| within.0),
        within_cov_largest: within.map(|within| within.1),
    })
}

/// The condition with the largest ratio between the means of its modes, or, without modes, between its trials; none
/// if no condition has two trials with positive means.
pub(super) fn by_chance(conditions: &[ConditionTrials<'_>], name: &str) -> Option<ByChance> {
    let all: Vec<&ConditionTrials<'_>> = conditions.iter().collect();
    let seen = modes::StudyModes::of(&all, &collect::all_metrics(conditions), Some(name));
    let of_modes = |condition: &ConditionTrials<'_>| means(&seen.modes(condition, name));
    let of_trials = |condition: &ConditionTrials<'_>| ends(condition, name);
    let (are_modes, (condition, means)) = widest(conditions, of_modes)
        .map(|found| (true, found))
        .or_else(|| widest(conditions, of_trials).map(|found| (false, found)))?;
    Some(ByChance { condition: condition.to_owned(), means, are_modes, unit: metric::describe(name).unit })
}

/// The name and values of the condition with the largest ratio of last to first value.
fn widest<'c, 'r>(
    conditions: &'c [ConditionTrials<'r>],
    values: impl Fn(&'c ConditionTrials<'r>) -> Vec<f64>,
) -> Option<(&'r str, Vec<f64>)> {
    let all = conditions.iter().filter_map(|condition| {
        let values = values(condition);
        let (first, last) = (*values.first()?, *values.last()?);
        (values.len() > 1 && first > 0.0).then_some((last / first, condition.name, values))
    });
    all.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name, values)| (name, values))
}

fn means(modes: &[Mode]) -> Vec<f64> {
    modes.iter().map(|mode| mode.mean).collect()
}

fn ends(condition: &ConditionTrials<'_>, name: &str) -> Vec<f64> {
    let mut means: Vec<f64> = condition.means(name);
    means.sort_by(f64::total_cmp);
    match means.as_slice() {
        [first, .., last] => vec![*first, *last],
        _ => Vec::new(),
    }
}
