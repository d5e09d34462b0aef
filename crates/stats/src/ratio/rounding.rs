//! What rounding hides of the trials of a side.
//!
//! A trial is often the mean of several samples, and a mean of rounded samples has more digits than these have: that of
//! 10, 10 and 11 is 10.33. So the digit is that of the samples, see [`last_digit`].
//!
//! The error of a sample lies within half a digit d, and has the standard deviation d / sqrt(12) if every place within
//! a digit is equally likely. The mean of k samples with independent errors has d / sqrt(12 k). Equal samples of a
//! trial share their error, however many there are, so k is the number of different values among the samples of a
//! trial. The variance between trials contains that of these errors. It is therefore taken to be at least as large:
//! trials that are all equal by chance are no certainty.
//!
//! Over many trials these errors cancel only if samples spread over more than one digit. If all samples of a side lie
//! within one digit, they may all have been rounded in one direction, and the mean may be off by half a digit, whatever
//! the number of samples and trials. Beyond that, rounding moves the mean of normal samples by at most
//! d exp(-2 pi^2 s^2) / pi, with s their standard deviation in digits: less than 0.06 digits from 0.3 on.

use crate::descriptive::mean;
use crate::digits::last_digit;
use crate::interval::Interval;
use crate::quantiles::t_two_sided;

/// What rounding hides of the trials of a side, in the unit of the metric; nothing by default.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rounding {
    /// The standard deviation of the rounding error of a trial.
    pub error: f64,
    /// By how much rounding may have moved the mean of all trials.
    pub slack: f64,
}

/// Whole numbers count as rounded to this at most: 1000 and 2000 are hardly rounded to thousands.
const LARGEST_DIGIT: f64 = 1.0;

impl Rounding {
    /// Of several sides, by side and trial the samples, which were rounded alike: to their last digit, or to `least` if
    /// that is more.
    pub fn alike(sides: &[Vec<Vec<f64>>], least: f64) -> Vec<Self> {
        let all: Vec<f64> = sides.iter().flatten().flatten().copied().collect();
        let digit = Self::common_digit(&all, least);
        sides.iter().map(|trials| Self::of(trials.iter().map(Vec::as_slice), digit)).collect()
    }

    /// As a part of the mean, which is what rounding hides of a logarithm; nothing without a positive mean.
    #[must_use]
    pub fn relative(self, mean: Option<f64>) -> Self {
        mean.filter(|mean| *mean > 0.0).map_or_else(Self::default, |mean| self.times(1.0 / mean))
    }

    /// Of the values times this factor.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { error: self.error * factor, slack: self.slack * factor }
    }

    /// What rounding hides of the sum or the difference of two independent values.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { error: self.error.hypot(other.error), slack: self.slack + other.slack }
    }

    /// The digit to which samples that were rounded alike were rounded, see [`Rounding::alike`].
    pub fn common_digit(samples: &[f64], least: f64) -> f64 {
        Self::digit(samples).min(LARGEST_DIGIT).max(least)
    }

    /// The interval of the mean of `n` trials, at least as wide as if only rounding made them differ, and wider by
    /// what rounding may have moved the mean.
    pub fn widened(self, ci: Interval, n: usize, confidence: f64) -> Interval {
        if self == Self::default() || n < 2 {
            return ci;
        }
        let least = t_two_sided(confidence, n as f64 - 1.0) * self.error / (n as f64).sqrt();
        let by = (least - ci.width() / 2.0).max(0.0) + self.slack;
        let low = ci.low - by;
        // What is never negative has no negative mean.
        Interval { low: if ci.low >= 0.0 { low.max(0.0) } else { low }, high: ci.high + by }
    }

    /// The digit to which these samples were rounded; 0 if they are not.
    pub fn digit(samples: &[f64]) -> f64 {
        last_digit(samples).unwrap_or(0.0)
    }

    /// For the samples of each trial, which were rounded to a multiple of `digit`.
    pub fn of<'s>(trials: impl Iterator<Item = &'s [f64]> + Clone, digit: f64) -> Self {
        if digit.is_nan() || digit <= 0.0 {
            return Self::default();
        }
        let samples = || trials.clone().flatten().copied();
        let (min, max) = samples().fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), v| (v.min(min), v.max(max)));
        let shares: Vec<f64> = trials.clone().map(|own| 1.0 / different(own, digit) as f64).collect();
        Self {
            error: digit * (mean(&shares).unwrap_or(1.0) / 12.0).sqrt(),
            slack: if max - min < 1.5 * digit { digit / 2.0 } else { 0.0 },
        }
    }

    /// Of two sides whose trials are one sample each.
    pub(super) fn of_sides(sides: [&[f64]; 2]) -> [Self; 2] {
        let digit = Self::digit(&sides.concat());
        sides.map(|side| Self::of(side.iter().map(std::slice::from_ref), digit))
    }

    /// The variance of a trial's error in this unit.
    pub(super) fn variance(&self, unit: f64) -> f64 {
        (self.error / unit).powi(2)
    }
}

/// The number of different samples, at least 1.
fn different(samples: &[f64], digit: f64) -> usize {
    let mut places: Vec<f64> = samples.iter().map(|v| (v / digit).round()).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places.len().max(1)
}

/// The least and the largest logarithm of B / A that rounding allows for these means, whose own is `log_ratio`.
pub(super) fn ends(rounding: [Rounding; 2], means: [f64; 2], log_ratio: f64) -> [f64; 2] {
    let [a, b] = [0, 1].map(|side| rounding[side].slack / means[side]);
    let lowered = |share: f64| if share < 1.0 { (-share).ln_1p() } else { f64::NEG_INFINITY };
    [log_ratio + lowered(b) - a.ln_1p(), log_ratio + b.ln_1p() - lowered(a)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_trial_is_that_of_its_different_samples() {
        let of = |trials: &[&[f64]]| {
            let found = Rounding::of(trials.iter().copied(), 0.1);
            (found.error / (0.1 / 12f64.sqrt()), found.slack)
        };
        let near = |found: (f64, f64), error: f64, slack: f64| {
            assert!((found.0 - error).abs() < 1e-9 && (found.1 - slack).abs() < 1e-9, "{found:?}");
        };
        near(of(&[&[1.0], &[1.1]]), 1.0, 0.05);
        near(of(&[&[1.0; 9], &[1.1; 9]]), 1.0, 0.05);
        near(of(&[&[1.0, 1.1, 1.2, 1.3], &[1.1, 1.2, 1.3, 1.4]]), 0.5, 0.0);
        assert_eq!(Rounding::of([[1.0, 2.0].as_slice()].into_iter(), 0.0), Rounding::default());
    }

    /// Six trials of 12: t_5 = 2.5706 of 1 / sqrt(12 6), and half a digit.
    #[test]
    fn the_mean_of_equal_rounded_trials_is_not_exact() {
        let widened = |trials: &[f64]| {
            let own = Rounding::of(trials.iter().map(std::slice::from_ref), 1.0);
            own.widened(crate::trials::mean_interval(trials, 0.95).unwrap(), trials.len(), 0.95)
        };
        let equal = widened(&[12.0; 6]);
        assert!((equal.high - 12.0 - 2.5706 / 72f64.sqrt() - 0.5).abs() < 1e-4, "{equal:?}");
        assert!((equal.low + equal.high - 24.0).abs() < 1e-9 && widened(&[0.0, 0.0]).low == 0.0, "{equal:?}");
        let far = [9.0, 15.0, 12.0, 10.0, 14.0, 12.0];
        assert_eq!(widened(&far), crate::trials::mean_interval(&far, 0.95).unwrap());
    }

    #[test]
    fn the_digit_is_that_of_all_samples_and_0_without_one() {
        assert_eq!((Rounding::digit(&[0.12, 0.1]), Rounding::digit(&[1.0 / 3.0])), (0.01, 0.0));
    }
}
