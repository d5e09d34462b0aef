//! The rule by which a race is decided, as a plan keeps it.

use serde::{Deserialize, Serialize};
use tare_stats::racing::Question;

/// When a race is decided: fixed before the first trial, so that a run that goes on keeps the same rule and error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Race {
    pub candidates: Vec<String>,
    /// The metric that is compared; none: the first headline metric of the first block.
    pub metric: Option<String>,
    pub minimum_effect: f64,
    /// Chance that the named candidate is not within it of the best.
    pub alpha: f64,
    /// Seconds that trials may take together; none: until it is decided.
    pub budget_s: Option<f64>,
    /// Seed of the order within blocks.
    pub seed: u64,
    /// Runs that have added blocks: the first one, and each that went on.
    pub sessions: usize,
}

impl Race {
    /// Minimum effect and error, as the test takes them.
    pub fn question(&self) -> Question {
        Question { minimum_effect: self.minimum_effect, alpha: self.alpha }
    }
}
