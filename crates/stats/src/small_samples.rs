//! Many samples of few values each: whether the mean of one of them is 0, by the variance of all of them together,
//! since that of a few values is little known.

use crate::descriptive::{mean, variance};
use crate::quantiles::t_upper_tail;

/// The variance of a value about the mean of its sample, over many samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UsualVariance {
    variance: f64,
    df: f64,
}

/// Two-sided p-values of a mean of 0, in (0, 1], not adjusted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PValues {
    /// By the variance of all samples: too small for a sample that varies more than the others.
    pub usual: f64,
    /// By the sample's own variance.
    pub own: f64,
}

impl UsualVariance {
    /// `None` when no sample has two values.
    pub fn of(samples: &[Vec<f64>]) -> Option<Self> {
        let of = |sample: &Vec<f64>| Some((variance(sample)?, sample.len() as f64 - 1.0));
        let (sum, df) = samples.iter().filter_map(of).fold((0.0, 0.0), |(sum, all), (v, df)| (sum + v * df, all + df));
        (df > 0.0).then_some(Self { variance: sum / df, df })
    }

    /// The p-values of one sample: 0 without a variance, 1 for a mean of 0. `None` with fewer than two values.
    pub fn p_values(&self, sample: &[f64]) -> Option<PValues> {
        let (n, size) = (sample.len() as f64, mean(sample)?.abs());
        let p_value = |variance: f64, df: f64| 2.0 * t_upper_tail(size / (variance / n).sqrt(), df);
        Some(PValues { usual: p_value(self.variance, self.df), own: p_value(variance(sample)?, n - 1.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_tested_by_the_variance_of_all_samples_and_by_its_own() {
        let samples = [vec![1.0, 3.0], vec![0.5, -0.5], vec![2.0]];
        let usual = UsualVariance::of(&samples).unwrap();
        assert!((usual.variance - 1.25).abs() < 1e-12 && usual.df == 2.0, "{usual:?}");
        let found = usual.p_values(&samples[0]).unwrap();
        // t = 2 / sqrt(1.25 / 2) on 2 and 2 / 1 on 1 degrees of freedom, in closed form.
        let (t, on_two) = (2.0 / 0.625_f64.sqrt(), |t: f64| 1.0 - t / (2.0 + t * t).sqrt());
        assert!((found.usual - on_two(t)).abs() < 1e-9 && (found.own - 0.295_167_235).abs() < 1e-6, "{found:?}");
        assert_eq!((usual.p_values(&[4.0]), UsualVariance::of(&samples[2..])), (None, None));
    }
}
