//! What a study asks for and its plan does without, kept with the plan: the answer says it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was cut of a study to fit a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Within {
    /// The time that was requested, seconds.
    pub asked_s: f64,
    /// What the whole study would take, seconds.
    pub whole_s: f64,
    pub whole_trials: usize,
    /// Levels that are not measured, by factor.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, Vec<String>>,
    /// Trials that the time did not last for.
    #[serde(default)]
    pub stopped: usize,
}

/// A setting of the machine that a study does without.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name, as `[machine]` has it.
    pub setting: String,
    pub level: String,
    /// Why it cannot be had.
    pub reason: String,
}
