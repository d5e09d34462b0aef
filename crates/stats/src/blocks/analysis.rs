//! Which analysis a comparison rests on.

#[cfg(feature = "serde")]
use serde::Serialize;

/// How conditions were compared, decided by the trials and not by the result.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Analysis {
    /// Whether what blocks differ by was taken out.
    pub by_block: bool,
    /// Whose spread stands for that of a condition.
    pub spread: Spread,
    /// Trials that the comparison rests on.
    pub trials: usize,
    /// Trials that were given.
    pub of: usize,
}

/// Whose spread stands for that of a condition.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize), serde(tag = "kind", rename_all = "snake_case"))]
pub enum Spread {
    /// One for all: no condition is shown to vary more than the others.
    Pooled {
        /// Chance of such a spread of the noisiest condition where all vary alike.
        p_value: f64,
    },
    /// One for all but the conditions that are shown to vary more: those have their own.
    SomeOwn {
        /// Chance of such a spread of the noisiest condition where all vary alike.
        p_value: f64,
        /// Conditions that have their own.
        conditions: usize,
    },
    /// Each its own: too many are shown to vary more than the others.
    Unequal {
        /// Chance of such a spread of the noisiest condition where all vary alike.
        p_value: f64,
    },
    /// Each its own: too few trials to test, two conditions, or no blocks.
    Own,
}
