//! The ratio of two conditions by resampling trials, for metrics whose trial means are far from normal.

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::descriptive::{mean, quantile_of_sorted, std_dev};
use crate::error::{Error, valid_confidence};
use crate::interval::{Estimate, Interval};
use crate::order::{below, generator};
use crate::quantiles::{normal_cdf, t_two_sided};
use crate::samples::Trials;

/// Enough draws for a 95% interval to repeat to about 1% of its width.
pub const DRAWS: usize = 10_000;

/// Which levels are drawn with replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resample {
    /// Trials only; each brings its samples along. The variance of the draws then estimates S^2 / n, which is what the
    /// mean varies by, and so this is the default (Davison & Hinkley, "Bootstrap Methods", 1997, section 3.8).
    Trials,
    /// Trials, and samples within each drawn trial. It counts the within-trial variance twice: with few samples a trial
    /// and a small component between trials the interval is up to sqrt(2) times too wide.
    TrialsAndSamples,
}

/// Ratio of the means of B and A (outer = trials) with the expanded percentile interval over `draws` resamples.
///
/// Plain percentiles undercover below about 10 trials. The tail is therefore widened to Phi(-c t), after Hesterberg
/// ("What teachers should know about the bootstrap", The American Statistician 69, 2015): c restores the factor (n - 1)
/// / n that resampling loses in each arm's variance (sqrt(n / (n - 1)) for arms of equal weight), and t is the
/// multiplier of the Welch-Satterthwaite degrees of freedom. The interval is absent when an arm has a single trial or
/// draws of A have means of both signs.
///
/// # Errors
/// [`Error::TooFew`] for no draws, [`Error::NotFinite`] for a ratio that is not, [`Error::NotPositive`] when A's mean
/// is 0.
pub fn ratio(
    a: Trials<'_>,
    b: Trials<'_>,
    resample: Resample,
    draws: usize,
    confidence: f64,
    seed: u64,
) -> Result<Estimate, Error> {
    valid_confidence(confidence)?;
    if draws == 0 {
        return Err(Error::TooFew { what: "draws".into(), needed: 1, got: 0 });
    }
    let arms = [Arm::of("A", a)?, Arm::of("B", b)?];
    if arms[0].mean == 0.0 {
        return Err(Error::NotPositive { what: "magnitude of the mean of A".into(), value: 0.0 });
    }
    let value = arms[1].mean / arms[0].mean;
    if !value.is_finite() || (value == 0.0 && arms[1].mean != 0.0) {
        return Err(Error::NotFinite { what: "ratio of the means".into() });
    }
    let Some(tail) = expanded_tail(&arms, confidence) else { return Ok(Estimate { value, ci: None }) };
    let mut rng = generator(seed);
    let mut ratios = Vec::with_capacity(draws);
    for _ in 0..draws {
        let below = arms[0].draw(resample, &mut rng);
        // A denominator that changes sign makes the ratio unbounded: no interval, as with Fieller.
        if below == 0.0 || below.signum() != arms[0].mean.signum() {
            return Ok(Estimate { value, ci: None });
        }
        ratios.push(arms[1].draw(resample, &mut rng) / below);
    }
    ratios.sort_by(f64::total_cmp);
    let ci = Interval::finite(quantile_of_sorted(&ratios, tail), quantile_of_sorted(&ratios, 1.0 - tail));
    Ok(Estimate { value, ci })
}

/// One condition's samples, its trial means and their mean.
struct Arm {
    trials: Vec<Vec<f64>>,
    means: Vec<f64>,
    mean: f64,
}

impl Arm {
    fn of(name: &str, trials: Trials<'_>) -> Result<Self, Error> {
        let means = trials.means();
        let trials: Vec<Vec<f64>> = trials.iter().map(<[f64]>::to_vec).collect();
        let mean = mean(&means).ok_or(Error::TooFew { what: format!("trials of {name}"), needed: 1, got: 0 })?;
        Ok(Self { trials, means, mean })
    }

    /// Mean of one resample.
    fn draw(&self, resample: Resample, rng: &mut Xoshiro256PlusPlus) -> f64 {
        let n = self.means.len();
        let sum: f64 = (0..n)
            .map(|_| {
                let trial = below(rng, n);
                match resample {
                    Resample::Trials => self.means[trial],
                    Resample::TrialsAndSamples => {
                        let samples = &self.trials[trial];
                        (0..samples.len()).map(|_| samples[below(rng, samples.len())]).sum::<f64>()
                            / samples.len() as f64
                    }
                }
            })
            .sum();
        sum / n as f64
    }
}

/// Probability in each tail after expansion. `None` when an arm has a single trial.
fn expanded_tail(arms: &[Arm; 2], confidence: f64) -> Option<f64> {
    let mut relative = [0.0; 2];
    for (r, arm) in relative.iter_mut().zip(arms) {
        // An arm of mean 0 (B may have one) has no relative error; its weight then only matters for the expansion.
        let sd = std_dev(&arm.means)?;
        let scale = if arm.mean == 0.0 { sd.max(f64::MIN_POSITIVE) } else { arm.mean };
        *r = (sd / scale).powi(2) / arm.means.len() as f64;
    }
    let n = [arms[0].means.len() as f64, arms[1].means.len() as f64];
    let total = relative[0] + relative[1];
    let lost = total / (relative[0] * (n[0] - 1.0) / n[0] + relative[1] * (n[1] - 1.0) / n[1]);
    let df = total * total / (relative[0].powi(2) / (n[0] - 1.0) + relative[1].powi(2) / (n[1] - 1.0));
    if !(lost.is_finite() && df.is_finite()) {
        return Some(0.5 - confidence / 2.0); // no spread at all: every draw is the same
    }
    Some(normal_cdf(-lost.sqrt() * t_two_sided(confidence, df)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(samples: &[Vec<f64>]) -> Trials<'_> {
        Trials::new(samples).unwrap()
    }

    fn arm(scale: f64) -> Vec<Vec<f64>> {
        (0..8).map(|i| (0..5).map(|j| scale * (100.0 + f64::from(i * i % 7) + 0.1 * f64::from(j))).collect()).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_interval_and_scaling_scales_it() {
        let base = ratio(trials(&arm(1.0)), trials(&arm(2.0)), Resample::Trials, 1000, 0.95, 1).unwrap();
        assert_eq!(base, ratio(trials(&arm(1.0)), trials(&arm(2.0)), Resample::Trials, 1000, 0.95, 1).unwrap());
        assert_ne!(base, ratio(trials(&arm(1.0)), trials(&arm(2.0)), Resample::Trials, 1000, 0.95, 2).unwrap());
        let ci = base.ci.unwrap();
        assert!((base.value - 2.0).abs() < 1e-9 && ci.contains(2.0));
    }

    #[test]
    fn what_has_no_interval() {
        let single = ratio(trials(&arm(1.0)[..1]), trials(&arm(1.0)), Resample::Trials, 100, 0.95, 1).unwrap();
        assert_eq!(single.ci, None);
        let both_signs = vec![vec![-1.0], vec![2.0], vec![0.5]];
        assert_eq!(ratio(trials(&both_signs), trials(&arm(1.0)), Resample::Trials, 1000, 0.95, 1).unwrap().ci, None);
        let still = vec![vec![3.0]; 4];
        let none = ratio(trials(&still), trials(&still), Resample::TrialsAndSamples, 100, 0.95, 1).unwrap();
        assert_eq!(none.ci, Some(Interval { low: 1.0, high: 1.0 }));
    }
}
