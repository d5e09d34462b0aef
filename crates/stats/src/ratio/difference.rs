//! The difference of two means that are not both positive, where a ratio says nothing of the direction.

use super::fieller::Tested;
use crate::descriptive::{mean, std_dev, variance};
use crate::error::{Error, all_finite};
use crate::interval::Interval;
use crate::quantiles::{t_two_sided, t_upper_tail};

/// Both arms in one unit, so that squares neither overflow nor vanish.
pub(super) struct Difference {
    arms: [Vec<f64>; 2],
    mean: [f64; 2],
    unit: f64,
    /// By how much the variance of each arm's mean exceeds that of independent trials; none of trials that are matched
    /// by position.
    inflation: Option<[f64; 2]>,
}

/// A difference of means with what it is tested by.
struct Contrast {
    value: f64,
    se: f64,
    df: f64,
}

impl Difference {
    /// Of arms that have nothing in common (`inflation` as in [`super::Design::Apart`]), or of blocks without one.
    pub fn of(a: &[f64], b: &[f64], inflation: Option<[f64; 2]>) -> Result<Self, Error> {
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
        Ok(Self { arms, mean, unit, inflation })
    }

    /// mean(B) - times mean(A), with Welch-Satterthwaite degrees of freedom, or those of the blocks.
    fn contrast(&self, times: f64) -> Contrast {
        let value = self.mean[1] - times * self.mean[0];
        let [a, b] = &self.arms;
        let Some(inflation) = self.inflation else {
            let each: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - times * a).collect();
            let se = std_dev(&each).map_or(f64::NAN, |sd| sd / (each.len() as f64).sqrt());
            return Contrast { value, se, df: each.len() as f64 - 1.0 };
        };
        let (mut total, mut by_df, mut all_df) = (0.0, 0.0, 0.0);
        for ((arm, times), inflation) in [(a, times), (b, 1.0)].into_iter().zip(inflation) {
            let n = arm.len() as f64;
            let own = variance(arm).map_or(f64::NAN, |v| times * times * v / n * inflation);
            let df = super::fieller::fewer(n - 1.0, inflation);
            total += own;
            by_df += own * own / df;
            all_df += df;
        }
        let df = total * total / by_df;
        Contrast { value, se: total.sqrt(), df: if df.is_finite() { df } else { all_df } }
    }

    /// The mean of A times this is what a ratio of `theta` would come to from there.
    fn times(&self, theta: f64) -> f64 {
        let sign = if self.mean[0] == 0.0 { 0.0 } else { self.mean[0].signum() };
        1.0 + (theta - 1.0) * sign
    }

    fn p(&self, theta: f64, sign: f64) -> f64 {
        let Contrast { value, se, df } = self.contrast(self.times(theta));
        match sign * value {
            difference if se == 0.0 && difference > 0.0 => 0.0,
            _ if se == 0.0 => 1.0,
            difference => t_upper_tail(difference / se, df),
        }
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
        let half = if se > 0.0 { t_two_sided(confidence, df) * se } else { 0.0 };
        Interval::finite((value - half) * self.unit, (value + half) * self.unit)
    }

    fn p_above(&self, theta: f64) -> f64 {
        self.p(theta, 1.0)
    }

    fn p_below(&self, theta: f64) -> f64 {
        self.p(theta, -1.0)
    }
}
