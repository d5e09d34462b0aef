//! Which factors make the trials of a condition differ.

use super::ends;
use super::term::TermFactor;
use serde::{Serialize, Serializer};
use std::collections::BTreeSet;
use tare_stats::Interval;

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
    #[serde(flatten, serialize_with = "ends::spread_ci")]
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
    pub unit: &'static str,
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
