//! Contrasts of conditions with their p-values, and the analysis on which they are based.

use crate::quantiles::{t_two_sided, t_upper_tail};
#[cfg(feature = "serde")]
use serde::Serialize;

/// Factor on p-values from two trials, which have one degree of freedom. If trials have two modes, both trials of one
/// condition are in one mode and both of another in the other in up to 12.5% of studies. With this factor, modes a
/// hundred standard deviations apart are taken for a difference in at most 2% of studies.
pub const TWO_TRIALS: f64 = 20.0;

/// A contrast: a weighted sum of conditions whose weights sum to 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contrast {
    /// Its value, in the unit of the trials.
    pub value: f64,
    /// Its standard error, in the same unit.
    pub se: f64,
    /// Degrees of freedom of the standard error.
    pub df: f64,
    /// With few blocks, where `se` is that of the contrast's own differences between blocks: the standard error from
    /// the variance pooled over all conditions, and its degrees of freedom. A difference must be significant by both.
    /// Differences of two or three blocks may agree by chance, most of all where trials have two modes; the pooled
    /// variance may be too small for one noisy condition.
    pub pooled: Option<(f64, f64)>,
    /// Whether `se` is that of few trials without blocks, see [`are_few`].
    pub few: bool,
}

/// Whether conditions have fewer than three trials on average. Without blocks too, their p-values are then those of two
/// trials, because trials of two modes are often divided between the conditions by chance.
pub fn are_few(trials: impl IntoIterator<Item = usize>) -> bool {
    let (conditions, trials) = trials.into_iter().fold((0, 0), |(conditions, all), n| (conditions + 1, all + n));
    trials < 3 * conditions
}

impl Contrast {
    /// The value in units of the standard error by which many contrasts are tested together: the pooled one, if there
    /// is one; and its degrees of freedom.
    pub fn statistic(&self) -> (f64, f64) {
        let (se, df) = self.pooled.unwrap_or((self.se, self.df));
        (in_errors(self.value, se), df)
    }

    /// Two-sided p-value of no difference, [`TWO_TRIALS`] times as large from two trials; to be adjusted for the number
    /// of contrasts that are tested together.
    pub fn p_value(&self) -> f64 {
        let (statistic, df) = self.statistic();
        two_sided(statistic, df, self.few && self.pooled.is_none())
    }

    /// With few blocks, the p-value by the contrast's own differences between blocks, one of `tests` that are made
    /// together. It is there for a condition that is noisier than the rest. All contrasts with that condition depend on
    /// the same trials, so the factor is only the square root of the number of tests: about as small as keeps the rate
    /// where one of up to 14 conditions is ten times as noisy as the others.
    pub fn own_p_value(&self, tests: usize) -> Option<f64> {
        let factor = (tests as f64).sqrt().ceil();
        self.pooled.map(|_| (factor * two_sided(in_errors(self.value, self.se), self.df, self.few)).min(1.0))
    }
}

pub(super) fn in_errors(value: f64, se: f64) -> f64 {
    match value.abs() {
        0.0 => 0.0,
        value if se > 0.0 => value / se,
        _ => f64::INFINITY,
    }
}

pub(super) fn two_sided(statistic: f64, df: f64, few: bool) -> f64 {
    (2.0 * upper_tail(statistic, df, few || df < 2.0)).min(1.0)
}

/// P(T > statistic), of few trials with one degree of freedom and [`TWO_TRIALS`] times.
pub(crate) fn upper_tail(statistic: f64, df: f64, few: bool) -> f64 {
    if few { TWO_TRIALS * t_upper_tail(statistic, 1.0) } else { t_upper_tail(statistic, df) }
}

/// The statistic at which twice [`upper_tail`] is 1 - `confidence`.
pub(crate) fn two_sided_limit(confidence: f64, df: f64, few: bool) -> f64 {
    t_two_sided(level(confidence, few), if few { 1.0 } else { df })
}

/// The confidence level of an interval that decides like a test with this `confidence`; `few` as in [`are_few`].
pub fn level(confidence: f64, few: bool) -> f64 {
    if few { 1.0 - (1.0 - confidence) / TWO_TRIALS } else { confidence }
}

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
