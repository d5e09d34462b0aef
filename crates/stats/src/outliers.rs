//! Finds a trial that is far from all others of its condition.

use crate::descriptive::{mean, std_dev};
use crate::quantiles::t_upper_tail;

/// Fewest trials among which one can be an outlier.
pub const FEWEST: usize = 5;
/// Degrees of freedom of the t distribution assumed for trials: tails heavier than those of any distribution of
/// restarts that was observed.
const TAILS: f64 = 2.0;

/// The most extreme trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlier {
    /// Its index in the input.
    pub index: usize,
    /// Its distance from the mean of the others, in standard deviations of the others.
    pub deviations: f64,
    /// p-value of the most extreme trial of a condition with heavy tails.
    pub p_value: f64,
}

/// The trial that is most distant from the others, and its p-value: the externally studentised residual of Grubbs' test
/// ("Procedures for detecting outlying observations in samples", Technometrics 11, 1969), compared with a t
/// distribution with 2 degrees of freedom, Bonferroni-corrected for the choice of the most extreme. Under Grubbs'
/// normal distribution an outlier is reported in a third of studies whose trials merely have heavy tails. Adjust the
/// p-values of several conditions and metrics together ([`crate::multiple::holm`]). Positive values are judged by their
/// logarithms, so that a long upper tail is not taken for an outlier. At most one trial is reported: two that agree are
/// a mode, not an outlier. `None` with fewer than [`FEWEST`] trials, values that are not finite, or others that do not
/// vary.
pub fn farthest(trial_means: &[f64]) -> Option<Outlier> {
    let n = trial_means.len();
    if n < FEWEST || !trial_means.iter().all(|v| v.is_finite()) {
        return None;
    }
    let positive = trial_means.iter().all(|v| *v > 0.0);
    let values: Vec<f64> = trial_means.iter().map(|v| if positive { v.ln() } else { *v }).collect();
    let centre = mean(&values)?;
    let far = |i: &usize| (values[*i] - centre).abs();
    let index = (0..n).max_by(|i, j| far(i).total_cmp(&far(j)))?;
    let others: Vec<f64> = (0..n).filter(|i| *i != index).map(|i| values[i]).collect();
    let (centre, spread) = (mean(&others)?, std_dev(&others)?);
    let distance = (values[index] - centre).abs();
    // Others that agree to the last digit give no scale.
    if spread <= 1e-9 * centre.abs() || distance <= 0.0 {
        return None;
    }
    let deviations = distance / spread;
    let t = deviations / (1.0 + 1.0 / (n - 1) as f64).sqrt();
    let p_value = (2.0 * n as f64 * t_upper_tail(t, TAILS)).min(1.0);
    Some(Outlier { index, deviations, p_value })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The trial that is reported when there is only one condition.
    fn named(values: &[f64]) -> Option<usize> {
        farthest(values).filter(|far| far.p_value <= 0.005).map(|far| far.index)
    }

    #[test]
    fn one_trial_at_half_the_throughput_is_named_and_none_else() {
        let mut values = [100.0, 101.0, 99.0, 100.5, 99.6, 100.2, 98.9, 100.8];
        assert_eq!(named(&values), None);
        values[3] = 50.0;
        let found = farthest(&values).unwrap();
        assert_eq!(named(&values), Some(3), "{found:?}");
        assert!(found.deviations > 50.0, "{found:?}");
    }

    #[test]
    fn a_long_tail_two_that_agree_and_too_few_are_no_outlier() {
        assert_eq!(named(&[1.0, 1.3, 1.8, 2.4, 3.3, 4.1, 7.9]), None);
        assert_eq!(named(&[10.0, 10.1, 9.9, 10.05, 20.0, 20.1]), None);
        assert_eq!(farthest(&[10.0, 10.0, 10.1, 50.0]), None);
        assert_eq!(farthest(&[10.0, 10.0, 10.0, 10.0, 10.0, 11.0]), None);
    }
}
