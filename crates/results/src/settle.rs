//! The rule by which a comparison of two conditions is settled, as a plan keeps it.

use serde::{Deserialize, Serialize};
use tare_stats::sequential::Rule;

/// When a comparison of two conditions is settled: fixed before the first trial, so that a run that goes on keeps the
/// same rule and the same error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settle {
    /// Name of the condition that is A.
    pub a: String,
    /// Name of the condition that is B.
    pub b: String,
    /// The metric that is compared; none: the first headline metric of the first pair.
    pub metric: Option<String>,
    /// The smallest change of interest, as a fraction.
    pub minimum_effect: f64,
    /// Chance of a false alarm over all looks.
    pub alpha: f64,
    /// When it is looked at.
    pub rule: Rule,
    /// Seconds that trials may take together; none: until it is settled.
    pub budget_s: Option<f64>,
    /// Seed of the order within pairs.
    pub seed: u64,
    /// Runs that have added pairs: the first one, and each that went on.
    pub sessions: usize,
}
