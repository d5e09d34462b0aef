//! The difference of two means that are not both positive, whose ratio would not show the direction.

use super::fieller::{Tested, in_errors};
use super::rounding::Rounding;
use crate::blocks::{are_few, two_sided_limit, upper_tail};
use crate::descriptive::{mean, std_dev, variance};
use crate::error::{Error, all_finite};
use crate::interval::Interval;
use crate::plan::POWER;
use crate::quantiles::{self, t_two_sided};

/// The design of the trials of two arms, which determines what they share.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Design<'a> {
    /// Independent arms in unknown order.
    #[default]
    Independent,
    /// Trial i of A and trial i of B ran in the same block: block effects are removed.
    Blocks,
    /// Two runs, one after the other. The variance of each arm's mean is multiplied by this factor, because the trials
    /// of a run are autocorrelated; see [`crate::serial::RunOrder::inflation`].
    Apart([f64; 2]),
    /// A probe was measured with each trial, and what it explains is removed: see [`crate::control`].
    Probed {
        /// Probes of A and of B, one for each trial.
        probes: [&'a [f64]; 2],
        /// The design apart from the probe.
        trials: &'a Design<'a>,
    },
}

/// B - A of two means, in the unit of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// mean(B) - mean(A), in the unit of the values.
    pub value: f64,
    /// Its interval; `None` with a single trial on a side.
    pub ci: Option<Interval>,
    /// Two-sided p-value of no difference; 1 without an interval.
    pub p_value: f64,
    /// The smallest difference that such trials detect with [`POWER`]; `None` without an interval.
    pub smallest: Option<f64>,
}

/// The difference of two means, by the t-test of the block differences, or by Welch's test without blocks. The smallest
/// detectable difference is (t_{1 - alpha / 2} + t_power) standard errors (Kutner et al., Applied Linear Statistical
/// Models, 2005), and what rounding may hide. In a design with a probe, the probe is ignored. Few trials are tested as
/// everywhere, see [`are_few`].
///
/// # Errors
/// [`Error::NotFinite`] for values that are not finite, [`Error::Mismatch`] when the sides have different numbers of
/// blocks, and [`Error::TooFew`] without a trial.
pub fn shift(
    [a, b]: [&[f64]; 2],
    rounding: [Rounding; 2],
    design: Design<'_>,
    confidence: f64,
) -> Result<Shift, Error> {
    let inflation = match design {
        Design::Probed { trials, .. } => return shift([a, b], rounding, *trials, confidence),
        Design::Blocks => None,
        Design::Independent => Some([1.0; 2]),
        Design::Apart(inflation) => Some(inflation),
    };
    let found = Difference::of(a, b, inflation, rounding)?;
    let ci = found.interval(confidence);
    if ci.is_none() {
        return Ok(Shift { value: found.value(), ci, p_value: 1.0, smallest: None });
    }
    let Contrast { se, df, .. } = found.contrast(1.0);
    let few = are_few([a.len(), b.len()]);
    let limit = || two_sided_limit(confidence, df, few) + t_two_sided(2.0 * POWER - 1.0, df);
    let by_spread = if se > 0.0 { limit() * se } else { 0.0 };
    let smallest = (by_spread + found.slack(1.0)) * found.unit;
    let p_value = |way: f64| upper_tail(found.statistic(1.0, way).0, df, few);
    let p_value = (2.0 * p_value(1.0).min(p_value(-1.0))).min(1.0);
    Ok(Shift { value: found.value(), ci, p_value, smallest: Some(smallest) })
}

/// Both arms in one unit, so that squares neither overflow nor underflow.
pub(super) struct Difference {
    arms: [Vec<f64>; 2],
    mean: [f64; 2],
    unit: f64,
    /// Factors by which the variance of each arm's mean exceeds that of independent trials; `None` for trials that are
    /// paired by position.
    inflation: Option<[f64; 2]>,
    rounding: [Rounding; 2],
}

/// A difference of means with its standard error and degrees of freedom.
struct Contrast {
    value: f64,
    se: f64,
    df: f64,
}

impl Difference {
    /// For independent arms (`inflation` as in [`super::Design::Apart`]), or for blocks without one.
    pub fn of(a: &[f64], b: &[f64], inflation: Option<[f64; 2]>, rounding: [Rounding; 2]) -> Result<Self, Error> {
        all_finite("trial means", a)?;
        all_finite("trial means", b)?;
        if inflation.is_none() && a.len() != b.len() {
            return Err(Error::Mismatch { what: "blocks of B".into(), expected: a.len(), got: b.len() });
        }
        let largest = a.iter().chain(b).fold(0.0f64, |largest, v| largest.max(v.abs()));
        let unit = if largest > 0.0 { largest.log2().floor().exp2() } else { 1.0 };
        let arms = [a, b].map(|arm| arm.iter().map(|v| v / unit).collect::<Vec<f64>>());
        let of = |arm: &[f64], name: &str| {
            mean(arm).ok_or_else(|| Error::TooFew { what: format!("trials of {name}"), needed: 1, got: 0 })
        };
        let mean = [of(&arms[0], "A")?, of(&arms[1], "B")?];
        Ok(Self { arms, mean, unit, inflation, rounding })
    }

    /// mean(B) - times mean(A), with Welch-Satterthwaite degrees of freedom, or those of the blocks.
    fn contrast(&self, times: f64) -> Contrast {
        let value = self.mean[1] - times * self.mean[0];
        let [a, b] = &self.arms;
        let least = self.rounding.map(|side| side.variance(self.unit));
        let Some(inflation) = self.inflation else {
            let each: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - times * a).collect();
            let least = (least[1] + times * times * least[0]).sqrt();
            let se = std_dev(&each).map_or(f64::NAN, |sd| sd.max(least) / (each.len() as f64).sqrt());
            return Contrast { value, se, df: each.len() as f64 - 1.0 };
        };
        let arm = |arm: &[f64], times: f64, least: f64| {
            (variance(arm).map_or(f64::NAN, |v| times * times * v.max(least)), arm.len() as f64)
        };
        let arms = quantiles::variances_of_arms(&[arm(a, times, least[0]), arm(b, 1.0, least[1])]);
        let part = |((variance, df), (n, inflation)): ((f64, f64), (usize, f64))| {
            (variance / n as f64 * inflation, super::fieller::fewer(df, inflation))
        };
        let parts = arms.into_iter().zip([a.len(), b.len()].into_iter().zip(inflation)).map(part);
        let (total, df) = quantiles::sum_of_variances(parts);
        Contrast { value, se: total.sqrt(), df }
    }

    /// By how much rounding may have moved mean(B) - times mean(A).
    fn slack(&self, times: f64) -> f64 {
        (self.rounding[1].slack + times.abs() * self.rounding[0].slack) / self.unit
    }

    /// The factor on the mean of A that corresponds to a ratio of `theta`, whatever the sign of the mean.
    fn times(&self, theta: f64) -> f64 {
        let sign = if self.mean[0] == 0.0 { 0.0 } else { self.mean[0].signum() };
        1.0 + (theta - 1.0) * sign
    }
}

impl Tested for Difference {
    fn value(&self) -> f64 {
        (self.mean[1] - self.mean[0]) * self.unit
    }

    fn replicated(&self) -> bool {
        self.arms.iter().all(|arm| arm.len() >= 2) && self.contrast(1.0).se.is_finite()
    }

    fn interval(&self, confidence: f64) -> Option<Interval> {
        if !self.replicated() {
            return None;
        }
        let Contrast { value, se, df } = self.contrast(1.0);
        let half = if se > 0.0 { t_two_sided(confidence, df) * se } else { 0.0 } + self.slack(1.0);
        Interval::finite((value - half) * self.unit, (value + half) * self.unit)
    }

    fn statistic(&self, theta: f64, way: f64) -> (f64, f64) {
        let times = self.times(theta);
        let Contrast { value, se, df } = self.contrast(times);
        (in_errors(way * value - self.slack(times), se), df)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shift(a: &[f64], b: &[f64], design: Design<'_>) -> Shift {
        super::shift([a, b], Default::default(), design, 0.95).unwrap()
    }

    #[test]
    fn a_shift_is_that_of_a_worked_example() {
        // Student's sleep data (1908), by R: t.test(extra ~ group, paired = TRUE): t = -4.0621, df = 9, p = 0.002833,
        // interval -2.4598858 to -0.7001142; without pairs (Welch) p = 0.07939, -3.3654832 to 0.2054832.
        let a = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let b = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-5, "{found} {expected}");
        let paired = shift(&b, &a, Design::Blocks);
        near(paired.value, -1.58);
        near(paired.ci.unwrap().low, -2.459_885_8);
        near(paired.ci.unwrap().high, -0.700_114_2);
        near(paired.p_value, 0.002_833);
        let welch = shift(&b, &a, Design::Independent);
        near(welch.ci.unwrap().low, -3.365_483_2);
        near(welch.p_value, 0.079_39);
        // qt(0.975, 9) + qt(0.8, 9) = 2.262157 + 0.883404 standard errors of 0.388961.
        near(paired.smallest.unwrap(), (2.262_157 + 0.883_404) * 0.388_961);
    }

    #[test]
    fn two_trials_show_only_a_difference_far_beyond_their_spread() {
        // 1,000 standard errors: p = (2 / pi) atan(1 / 1000) = 0.000637 with one degree of freedom, and 20 times as
        // much. Of 100 it is 0.127. The limits are tan(0.49875 pi) = 254.647 and tan(0.3 pi) = 1.376 standard errors.
        let (a, b) = ([1.0, 1.002], [2.001, 2.001]);
        for design in [Design::Independent, Design::Blocks] {
            let found = shift(&a, &b, design);
            assert!((found.p_value - 0.012_73).abs() < 1e-5, "{found:?}");
            assert!((found.smallest.unwrap() - 0.001 * (254.647 + 1.376)).abs() < 1e-5, "{found:?}");
            assert!(shift(&a, &[1.101; 2], design).p_value > 0.05);
        }
        assert!(shift(&[1.0, 1.002, 1.001], &[1.101, 1.101, 1.102], Design::Independent).p_value < 0.001);
    }

    #[test]
    fn one_trial_has_a_difference_and_nothing_that_says_how_sure_it_is() {
        let found = shift(&[1.0], &[3.0], Design::Independent);
        assert_eq!(found, Shift { value: 2.0, ci: None, p_value: 1.0, smallest: None });
        let none = shift(&[0.0; 3], &[0.0; 3], Design::Blocks);
        assert_eq!((none.value, none.p_value, none.smallest), (0.0, 1.0, Some(0.0)));
    }

    /// Trials of whole numbers: A is 10 in all of them, B is 11. They may have been 10.4 and 10.6.
    #[test]
    fn what_rounding_hides_is_no_difference() {
        let hidden = |digit: f64| [Rounding { error: digit / 12f64.sqrt(), slack: digit / 2.0 }; 2];
        for design in [Design::Independent, Design::Blocks] {
            let of = |b: f64, digit| super::shift([&[10.0; 5], &[b; 5]], hidden(digit), design, 0.95).unwrap();
            let (exact, rounded) = (of(11.0, 0.0), of(11.0, 1.0));
            assert_eq!((exact.p_value, exact.smallest), (0.0, Some(0.0)), "{design:?}: counts are not rounded");
            assert!(rounded.p_value > 0.5 && rounded.ci.unwrap().contains(0.0), "{design:?}: {rounded:?}");
            let smallest = rounded.smallest.unwrap();
            assert!(smallest > 1.0 && of(10.0 + smallest, 1.0).p_value < 0.05, "{design:?}: {smallest}");
        }
    }
}
