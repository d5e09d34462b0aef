//! The modes that trials of one condition fall into, and their cause.

use serde::Serialize;
use tare_stats::Interval;

/// What stands for the trials of a condition where one figure is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Middle<'m> {
    /// Their mean, with its interval over trials.
    Mean(f64, Option<Interval>),
    /// Each mode: the mean describes no trial.
    Modes(&'m [Mode]),
    /// From the least to the most: the mean describes no trial, and modes are not shown.
    Range(f64, f64),
}

/// Whether the trials of a metric fall into modes, and what would have been seen: silence about modes is worth as much.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModesTested {
    pub metric: String,
    /// Conditions with enough trials for a test of their own.
    pub conditions: usize,
    /// Of these, the ones whose trials fall into modes.
    pub seen_in: usize,
    /// Modes of the trials of all conditions together, each trial over its condition's mean, lower first; empty where
    /// none are shown.
    pub together: Vec<Mode>,
    /// Distance of the two modes that the shares below are of, in standard deviations of a mode.
    pub apart_sd: f64,
    /// Share of studies like this one in which two such modes of a single condition would be seen; null where no
    /// condition has enough trials.
    pub power_in_one: Option<f64>,
    /// The same for modes that all conditions have alike; null where there is one condition, or too few trials.
    pub power_together: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mode {
    pub mean: f64,
    pub weight: f64,
}

/// A recorded covariate that explains which trial falls into which mode.
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

/// What the two threads of a pair have in common, or something nearer.
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
    /// Which share of pairs is so near each other, on average.
    Pairs {
        relation: Shared,
        share: f64,
    },
    /// The word that most of them have.
    Word {
        word: String,
        trials: usize,
        of: usize,
    },
    /// It was recorded of none of them.
    Unknown,
}
