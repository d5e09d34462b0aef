//! Describes the analysis on which a comparison is based.

#[cfg(feature = "serde")]
use serde::Serialize;

/// How conditions were compared, decided by the design of the trials and their variances, not by the result.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Analysis {
    /// Whether block effects were removed.
    pub by_block: bool,
    /// Which variance is used for a condition.
    pub spread: Spread,
    /// Number of trials used by the comparison.
    pub trials: usize,
    /// Number of all trials given.
    pub of: usize,
}

/// Which variance is used for a condition.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize), serde(tag = "kind", rename_all = "snake_case"))]
pub enum Spread {
    /// One pooled variance for all: no condition is shown to have a larger variance than the others.
    Pooled {
        /// p-value of the noisiest condition's variance under equal variances.
        p_value: f64,
    },
    /// One pooled variance for all conditions except those that are shown to have a larger one, which use their own.
    SomeOwn {
        /// p-value of the noisiest condition's variance under equal variances.
        p_value: f64,
        /// Number of conditions that use their own variance.
        conditions: usize,
    },
    /// Each condition its own variance: too many are shown to have a larger one than the others.
    Unequal {
        /// p-value of the noisiest condition's variance under equal variances.
        p_value: f64,
    },
    /// Both the pooled variance and each contrast's own, because there are too few blocks for a test: a difference must
    /// be significant by both.
    Both,
    /// Each condition its own variance: two conditions, or no blocks.
    Own,
}
