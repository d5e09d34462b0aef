//! A trial that lies far from all others of its condition.

use crate::descriptive::{mean, std_dev};
use crate::quantiles::t_upper_tail;

/// Fewest trials among which one can stand out.
pub const FEWEST: usize = 5;
/// Chance of naming a trial of a normal condition.
const ALARM: f64 = 0.002;

/// The one trial that stands out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlier {
    /// Its index in what was given.
    pub index: usize,
    /// Its distance from the mean of the others, in standard deviations of the others.
    pub deviations: f64,
    /// Chance that the farthest trial of a normal condition lies as far out.
    pub p_value: f64,
}

/// The trial that lies farther from the others than chance explains, if there is one: Grubbs' test ("Procedures for
/// detecting outlying observations in samples", Technometrics 11, 1969) as the externally studentised residual with
/// Bonferroni's correction for the choice of the farthest. Positive values are judged by their logarithms, so that a
/// long upper tail is not mistaken for an accident. It names at most one: two that agree are a mode, not an accident.
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
    // Others that agree to the last digit have no scale to judge by.
    if spread <= 1e-9 * centre.abs() || distance <= 0.0 {
        return None;
    }
    let deviations = distance / spread;
    let t = deviations / (1.0 + 1.0 / (n - 1) as f64).sqrt();
    let p_value = (2.0 * n as f64 * t_upper_tail(t, (n - 2) as f64)).min(1.0);
    (p_value <= ALARM).then_some(Outlier { index, deviations, p_value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_trial_at_half_the_throughput_is_named_and_none_else() {
        let mut values = [100.0, 101.0, 99.0, 100.5, 99.6, 100.2, 98.9, 100.8];
        assert_eq!(farthest(&values), None);
        values[3] = 50.0;
        let found = farthest(&values).unwrap();
        assert_eq!(found.index, 3);
        assert!(found.deviations > 50.0 && found.p_value < 1e-6, "{found:?}");
    }

    #[test]
    fn a_long_tail_two_that_agree_and_too_few_are_no_outlier() {
        assert_eq!(farthest(&[1.0, 1.3, 1.8, 2.4, 3.3, 4.1, 7.9]), None);
        assert_eq!(farthest(&[10.0, 10.1, 9.9, 10.05, 20.0, 20.1]), None);
        assert_eq!(farthest(&[10.0, 10.0, 10.1, 50.0]), None);
        assert_eq!(farthest(&[10.0, 10.0, 10.0, 10.0, 10.0, 11.0]), None);
    }
}
