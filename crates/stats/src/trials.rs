//! Values in groups, checked once, and the summary of one metric of one condition.

use super::descriptive::{cov, mean, min_max, std_dev};
use super::error::{Error, all_finite};
use super::interval::Interval;
use super::quantiles::{chi_squared, t_two_sided};

/// Samples in trials, all finite, with at least one sample. Trials without samples are allowed, and left out of every
/// figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trials<'a>(&'a [Vec<f64>]);

impl<'a> Trials<'a> {
    /// Checks samples in trials; outer = trials.
    ///
    /// # Errors
    /// [`Error::TooFew`] without any sample, [`Error::NotFinite`] for one that is not finite.
    pub fn new(trials: &'a [Vec<f64>]) -> Result<Self, Error> {
        trials.iter().try_for_each(|samples| all_finite("samples", samples))?;
        if trials.iter().all(Vec::is_empty) {
            return Err(Error::TooFew { what: "samples".into(), needed: 1, got: 0 });
        }
        Ok(Self(trials))
    }

    /// The samples of each trial that has any, in order.
    pub fn iter(self) -> impl Iterator<Item = &'a [f64]> {
        self.0.iter().map(Vec::as_slice).filter(|samples| !samples.is_empty())
    }

    /// The mean of each trial that has samples, in order.
    pub fn means(self) -> Vec<f64> {
        self.iter().filter_map(mean).collect()
    }
}

/// Two or more groups, each with at least one value, all of them finite: for instance machines with the values of their
/// blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Groups<'a>(&'a [Vec<f64>]);

impl<'a> Groups<'a> {
    /// Checks values in groups; outer = groups.
    ///
    /// # Errors
    /// [`Error::TooFew`] with fewer than two groups and for a group without values, [`Error::NotFinite`] for a value
    /// that is not finite.
    pub fn new(groups: &'a [Vec<f64>]) -> Result<Self, Error> {
        if groups.len() < 2 {
            return Err(Error::TooFew { what: "groups".into(), needed: 2, got: groups.len() });
        }
        if groups.iter().any(Vec::is_empty) {
            return Err(Error::TooFew { what: "values of a group".into(), needed: 1, got: 0 });
        }
        groups.iter().try_for_each(|values| all_finite("values of groups", values))?;
        Ok(Self(groups))
    }

    /// The values of each group, in order.
    pub fn iter(self) -> impl Iterator<Item = &'a [f64]> {
        self.0.iter().map(Vec::as_slice)
    }
}

/// Summary of a condition's trials for one metric. All values are in the metric's unit, except the CoVs, which are
/// fractions.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Trials with at least one sample.
    pub trials: usize,
    /// Samples in all trials.
    pub samples: usize,
    /// Mean of the trial means, each trial with the same weight whatever its number of samples.
    pub mean: f64,
    /// Interval of the mean over trials, see [`mean_interval`]. Absent for a single trial.
    pub ci: Option<Interval>,
    /// CoV of the samples of each trial, averaged over the trials with two or more samples.
    pub within_cov: Option<f64>,
    /// CoV of the trial means.
    pub between_cov: Option<f64>,
    /// Interval for `between_cov`, see [`cov_interval`].
    pub between_cov_ci: Option<Interval>,
    /// Smallest of the trial means.
    pub min: f64,
    /// Largest of the trial means.
    pub max: f64,
    /// Smallest sample of all trials.
    pub sample_min: f64,
    /// Largest sample of all trials.
    pub sample_max: f64,
}

/// Summary of nested samples. `None` when their mean would overflow.
pub fn summarize(trials: Trials<'_>, confidence: f64) -> Option<Summary> {
    let means = trials.means();
    let (min, max) = min_max(&means)?;
    let ends: Vec<(f64, f64)> = trials.iter().filter_map(min_max).collect();
    let sample_min = ends.iter().map(|(min, _)| *min).reduce(f64::min)?;
    let sample_max = ends.iter().map(|(_, max)| *max).reduce(f64::max)?;
    let within: Vec<f64> = trials.iter().filter_map(cov).collect();
    let between_cov = cov(&means);
    Some(Summary {
        trials: means.len(),
        samples: trials.iter().map(<[f64]>::len).sum(),
        mean: mean(&means)?,
        ci: mean_interval(&means, confidence),
        within_cov: mean(&within),
        between_cov,
        between_cov_ci: between_cov.and_then(|k| cov_interval(k, means.len(), confidence)),
        min,
        max,
        sample_min,
        sample_max,
    })
}

/// Interval of the mean from t_{n-1} s / sqrt(n). For values that are not negative, such as times and throughputs, it
/// is computed on the logarithm of the mean (the delta method), mean exp(+- t s / (sqrt(n) mean)): it never reaches 0,
/// and is close to the usual mean +- t s / sqrt(n) when that is small relative to the mean. `None` below two values.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let (centre, half) = centre_and_half(values, confidence)?;
    if centre > 0.0 && values.iter().all(|v| *v >= 0.0) {
        let factor = (half / centre).exp();
        return Interval::finite(centre / factor, centre * factor);
    }
    Interval::finite(centre - half, centre + half)
}

/// Interval of the mean of values of either sign, such as logarithms of ratios: mean +- t_{n-1} s / sqrt(n), which may
/// include 0 even if no value is near it. `None` below two values.
pub(crate) fn signed_mean_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let (centre, half) = centre_and_half(values, confidence)?;
    Interval::finite(centre - half, centre + half)
}

fn centre_and_half(values: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let half = t_two_sided(confidence, values.len() as f64 - 1.0) * std_dev(values)? / (values.len() as f64).sqrt();
    Some((mean(values)?, half))
}

/// Interval for a CoV `k` of `n` normal values: Vangel's modification of McKay's chi-squared approximation ("Confidence
/// intervals for a normal coefficient of variation", The American Statistician 50, 1996). With v = n - 1 and u the
/// chi-squared quantile, the bound is k / sqrt(((u + 2) / n - 1) k^2 + u / v). Good for CoVs below about 0.33; `None`
/// where it has no finite upper bound.
pub fn cov_interval(k: f64, n: usize, confidence: f64) -> Option<Interval> {
    if n < 2 {
        return None;
    }
    let v = (n - 1) as f64;
    let bound = |p: f64| {
        let u = chi_squared(p, v);
        k / (((u + 2.0) / n as f64 - 1.0) * k * k + u / v).sqrt()
    };
    Interval::finite(bound(0.5 + confidence / 2.0), bound(0.5 - confidence / 2.0))
}

/// Average and largest of several relative spreads (CoVs, relative ranges) over queries or metrics.
pub fn average_and_largest(spreads: &[f64]) -> Option<(f64, f64)> {
    Some((mean(spreads)?, min_max(spreads)?.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_without_usable_values_are_refused() {
        for nothing in [vec![], vec![vec![]]] {
            assert!(matches!(Trials::new(&nothing), Err(Error::TooFew { .. })), "{nothing:?}");
        }
        assert!(matches!(Trials::new(&[vec![1.0], vec![f64::NAN]]), Err(Error::NotFinite { .. })));
        for few in [vec![], vec![vec![1.0]], vec![vec![1.0], vec![]]] {
            assert!(matches!(Groups::new(&few), Err(Error::TooFew { .. })), "{few:?}");
        }
        assert!(matches!(Groups::new(&[vec![1.0], vec![f64::INFINITY]]), Err(Error::NotFinite { .. })));
    }

    #[test]
    fn trials_without_samples_are_left_out() {
        let samples = [vec![1.0, 3.0], vec![], vec![5.0]];
        let trials = Trials::new(&samples).unwrap();
        assert_eq!(trials.means(), [2.0, 5.0]);
        assert_eq!(trials.iter().count(), 2);
    }

    #[test]
    fn the_interval_is_over_trial_means_never_over_pooled_samples() {
        let trials = vec![vec![10.0, 12.0], vec![20.0, 22.0], vec![30.0, 32.0]];
        let s = summarize(Trials::new(&trials).unwrap(), 0.95).unwrap();
        assert_eq!((s.trials, s.samples, s.mean, s.min, s.max), (3, 6, 21.0, 11.0, 31.0));
        assert_eq!((s.sample_min, s.sample_max), (10.0, 32.0));
        // s = 10, t_{2, 0.975} = 4.302653
        let half = 4.302_653 * 10.0 / 3f64.sqrt();
        let ci = s.ci.unwrap();
        // On the logarithm of the mean, since times and throughputs are positive: it never reaches 0.
        let factor = (half / 21.0).exp();
        assert!((ci.low - 21.0 / factor).abs() < 1e-4 && (ci.high - 21.0 * factor).abs() < 1e-4);
        let signed = mean_interval(&[-1.0, 0.0, 1.0], 0.95).unwrap();
        assert!((signed.high - 4.302_653 / 3f64.sqrt()).abs() < 1e-4 && signed.low == -signed.high);
        let within = (2f64.sqrt() / 11.0 + 2f64.sqrt() / 21.0 + 2f64.sqrt() / 31.0) / 3.0;
        assert!((s.within_cov.unwrap() - within).abs() < 1e-12);
        assert!((s.between_cov.unwrap() - 10.0 / 21.0).abs() < 1e-12);
    }

    #[test]
    fn trials_weigh_the_same_whatever_their_sample_counts() {
        let s = summarize(Trials::new(&[vec![1.0; 99], vec![3.0], vec![]]).unwrap(), 0.95).unwrap();
        assert_eq!((s.mean, s.trials, s.samples, s.within_cov), (2.0, 2, 100, Some(0.0)));
    }

    /// Limits solved by hand for k = 0.3, n = 10: u = 19.0228 and 2.7004 with 9 degrees of freedom.
    #[test]
    fn the_interval_of_a_cov() {
        let ci = cov_interval(0.3, 10, 0.95).unwrap();
        assert!((ci.low - 0.3 / (1.102_28f64 * 0.09 + 2.113_64).sqrt()).abs() < 1e-5, "{ci:?}");
        assert!((ci.high - 0.3 / (-0.529_96f64 * 0.09 + 0.300_04).sqrt()).abs() < 1e-5, "{ci:?}");
    }

    #[test]
    fn a_single_trial_has_a_mean_and_no_interval() {
        let s = summarize(Trials::new(&[vec![5.0, 7.0]]).unwrap(), 0.95).unwrap();
        assert_eq!((s.mean, s.ci, s.between_cov, s.between_cov_ci), (6.0, None, None, None));
        assert!(s.within_cov.is_some());
    }
}
