//! What a load gives: its samples, and what it set and proved on the way.

use crate::subject::Surroundings;
use std::collections::BTreeMap;
use tare_results::metric::Named;
use tare_results::schema::AppliedSetting;

/// One measured run inside a trial.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// How long it took, seconds.
    pub elapsed_s: f64,
    /// What was measured, each with its unit and its better direction.
    pub metrics: Vec<(Named, f64)>,
    /// Transactions a second, one reading a second.
    pub tps_each_second: Vec<f64>,
    /// What the load itself saw beside its metrics: restarts of transactions and the like.
    pub covariates: BTreeMap<String, f64>,
    /// Where and beside what it happened.
    pub surroundings: Surroundings,
}

/// A sample beyond the measured ones, in which what disturbs was recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extra {
    /// How long it took, seconds.
    pub elapsed_s: f64,
    /// Transactions a second in it.
    pub tps: f64,
    /// The same over the mean of the measured samples.
    pub tps_ratio: f64,
}

/// Everything that a load gives.
#[derive(Debug, Clone, Default)]
pub struct Driven {
    /// The measured samples, in order.
    pub samples: Vec<Measured>,
    /// What was preloaded and checked, and the proof.
    pub applied: Vec<AppliedSetting>,
    /// The further sample for captures, where one was asked for.
    pub extra: Option<Extra>,
}
