//! The modes that trials of one condition fall into, and their cause.

use serde::Serialize;

/// One mode of a bimodal metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mode {
    /// The centre that its trials lie around.
    pub mean: f64,
    /// Share of trials, 0 to 1.
    pub weight: f64,
}

/// A recorded covariate that explains which trial falls into which mode.
#[derive(Debug, Clone, PartialEq)]
pub struct ModeCause {
    /// Its name as it is recorded.
    pub covariate: String,
    /// The modes, lower first.
    pub sides: Vec<ModeSide>,
}

/// One mode, and what its trials have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct ModeSide {
    /// The covariate in its trials.
    pub in_common: InCommon,
    /// The centre of the mode.
    pub mean: f64,
}

/// A covariate in the trials of one mode.
#[derive(Debug, Clone, PartialEq)]
pub enum InCommon {
    /// A number, on average.
    Number(f64),
    /// The word that most of them have.
    Word {
        /// The word.
        word: String,
        /// How many have it.
        trials: usize,
        /// How many there are.
        of: usize,
    },
    /// It was recorded of none of them.
    Unknown,
}
