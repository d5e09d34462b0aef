//! Modes of the trials of one condition, and their cause.

use serde::Serialize;
use tare_stats::Interval;

/// The value that represents the trials of a condition where a single figure is needed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Middle<'m> {
    /// Their mean, with its interval over trials.
    Mean(f64, Option<Interval>),
    /// Each mode: the mean describes no trial.
    Modes(&'m [Mode]),
    /// From the minimum to the maximum: the mean describes no trial, and no modes are shown.
    Range(f64, f64),
}

/// The test for modes of a metric, with its power: "no modes" is only worth as much as the power of the test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModesTested {
    pub metric: String,
    /// Conditions with enough trials for their own test.
    pub conditions: usize,
    /// How many of these conditions have modes.
    pub seen_in: usize,
    /// Modes of the trials of all conditions together, each trial divided by its condition's mean, in ascending
    /// order; empty if none are shown. Conditions with modes of their own are left out.
    pub together: Vec<Mode>,
    /// Distance of the two modes for which the power below is given, in standard deviations of a mode.
    pub apart_sd: f64,
    /// Power to detect two such modes in a single condition; null if no condition has enough trials.
    pub power_in_one: Option<f64>,
    /// Power to detect modes that all conditions share; null with one condition, or too few trials.
    pub power_together: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mode {
    pub mean: f64,
    pub weight: f64,
}

/// A recorded covariate that explains which trial belongs to which mode.
#[derive(Debug, Clone, PartialEq)]
pub struct ModeCause {
    pub covariate: String,
    pub sides: Vec<ModeSide>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ModeSide {
    pub in_common: InCommon,
    pub mean: f64,
}

/// What the two threads of a pair share; a nearer relation is included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shared {
    Pu,
    Core,
    Cache,
    Node,
}

#[derive(Debug, Clone, PartialEq)]
pub enum InCommon {
    Number(f64),
    /// The mean share of pairs with this relation or a nearer one.
    Pairs {
        relation: Shared,
        share: f64,
    },
    /// The word that most of the trials have.
    Word {
        word: String,
        trials: usize,
        of: usize,
    },
    /// Not recorded for any of the trials.
    Unknown,
}
