//! Does a metric have two modes, and which covariate tells them apart. Placement luck makes throughput bimodal, and
//! then its mean describes no run at all.

use crate::covariates::{Association, Covariate, Shape, explain};
use crate::descriptive::{mean, std_dev};
use crate::error::Error;

/// BIC of one component must exceed that of two by more than this (very strong evidence, Kass & Raftery 1995).
const BIC_DIFFERENCE: f64 = 10.0;
/// The means must lie further apart than this many common standard deviations (below it the mixture has one peak).
const SEPARATION: f64 = 2.0;
/// Fewest trials a mode.
const FEWEST: usize = 3;

/// One mode.
#[derive(Debug, Clone, PartialEq)]
pub struct Mode {
    /// Its mean, in the metric's unit.
    pub mean: f64,
    /// Share of the trials that belong to it.
    pub weight: f64,
    /// Indexes of the trials that more likely belong to it than to the other.
    pub members: Vec<usize>,
}

/// Two modes, the lower first, and the evidence for them.
#[derive(Debug, Clone, PartialEq)]
pub struct Modes {
    /// The lower and the upper mode.
    pub modes: [Mode; 2],
    /// BIC of one component less BIC of two.
    pub bic_difference: f64,
    /// |mu1 - mu2| / sigma.
    pub separation: f64,
}

/// Two modes of trial means, or `None` when one describes them: a mixture of two normals with a common variance, fitted
/// by EM, against a single normal; flagged when the BIC difference exceeds 10, the means lie more than 2 standard
/// deviations apart and each mode has at least 3 trials. Values must be finite.
pub fn detect(trial_means: &[f64]) -> Option<Modes> {
    let (centre, spread) = (mean(trial_means)?, std_dev(trial_means)?);
    if trial_means.len() < 2 * FEWEST || spread <= 0.0 {
        return None;
    }
    let z: Vec<f64> = trial_means.iter().map(|v| (v - centre) / spread).collect();
    let mut sorted = z.clone();
    sorted.sort_by(f64::total_cmp);
    let n = z.len();
    // Every split of the sorted values is a start; of long series, some 30 of them.
    let step = n.div_ceil(32);
    let fit = (FEWEST..=n - FEWEST)
        .step_by(step)
        .map(|split| expectation_maximisation(&z, &sorted, split))
        .max_by(|a, b| a.log_likelihood.total_cmp(&b.log_likelihood))?;

    let single_variance = (n as f64 - 1.0) / n as f64;
    let single = -0.5 * n as f64 * ((2.0 * std::f64::consts::PI * single_variance).ln() + 1.0);
    // Two parameters more: a second mean and a weight.
    let bic_difference = 2.0 * (fit.log_likelihood - single) - 2.0 * (n as f64).ln();
    let separation = (fit.means[1] - fit.means[0]).abs() / fit.sigma;
    let upper: Vec<bool> = z.iter().map(|&v| fit.posterior(v) > 0.5).collect();
    let members = |wanted: bool| (0..n).filter(|&i| upper[i] == wanted).collect::<Vec<_>>();
    let mode = |k: usize, weight: f64| Mode { mean: centre + spread * fit.means[k], weight, members: members(k == 1) };
    let modes = [mode(0, 1.0 - fit.weight), mode(1, fit.weight)];
    let flagged = bic_difference > BIC_DIFFERENCE
        && separation > SEPARATION
        && modes.iter().all(|m| m.members.len() >= FEWEST && m.mean.is_finite());
    flagged.then_some(Modes { modes, bic_difference, separation })
}

/// Covariates (one entry a trial, in the order given to [`detect`]), the one that separates the modes best first; see
/// [`explain`] for the shares and p-values. A numeric covariate separates by a threshold.
///
/// # Errors
/// As [`explain`].
pub fn association(
    found: &Modes,
    covariates: &[Covariate],
    permutations: usize,
    seed: u64,
) -> Result<Vec<Association>, Error> {
    let mut response = vec![0.0; found.modes.iter().map(|m| m.members.len()).sum()];
    found.modes[1].members.iter().for_each(|&i| response[i] = 1.0);
    explain(&response, &vec![0; response.len()], covariates, Shape::Threshold, permutations, seed)
}

/// A fitted mixture of standardised values.
struct Mixture {
    means: [f64; 2],
    sigma: f64,
    /// Weight of the upper component.
    weight: f64,
    log_likelihood: f64,
}

impl Mixture {
    /// ln of weight times density of each component, without the constant they share.
    fn log_parts(&self, v: f64) -> [f64; 2] {
        let part = |mean: f64, weight: f64| weight.ln() - 0.5 * ((v - mean) / self.sigma).powi(2);
        [part(self.means[0], 1.0 - self.weight), part(self.means[1], self.weight)]
    }

    /// Probability that a value belongs to the upper component.
    fn posterior(&self, v: f64) -> f64 {
        let [low, high] = self.log_parts(v);
        1.0 / (1.0 + (low - high).exp())
    }

    fn log_likelihood(&self, z: &[f64]) -> f64 {
        let constant = (self.sigma * (2.0 * std::f64::consts::PI).sqrt()).ln();
        let one = |&v: &f64| {
            let [low, high] = self.log_parts(v);
            low.max(high) + (-(low - high).abs()).exp().ln_1p() - constant
        };
        z.iter().map(one).sum()
    }

    /// From the probability of each value to belong to the upper component.
    fn maximise(z: &[f64], upper: &[f64]) -> Self {
        let n = z.len() as f64;
        // Weights stay off 0 and 1, where a component has no values; sigma off 0, where values repeat exactly.
        let in_upper = upper.iter().sum::<f64>().clamp(1e-6, n - 1e-6);
        let mean_of = |total: f64, weight: &dyn Fn(f64) -> f64| {
            z.iter().zip(upper).map(|(v, &u)| weight(u) * v).sum::<f64>() / total
        };
        let means = [mean_of(n - in_upper, &|u| 1.0 - u), mean_of(in_upper, &|u| u)];
        let squares: f64 =
            z.iter().zip(upper).map(|(v, u)| (1.0 - u) * (v - means[0]).powi(2) + u * (v - means[1]).powi(2)).sum();
        let sigma = (squares / n).sqrt().max(1e-6);
        let mut fit = Self { means, sigma, weight: in_upper / n, log_likelihood: 0.0 };
        fit.log_likelihood = fit.log_likelihood(z);
        fit
    }
}

/// EM from the split of the sorted values after the first `split`.
fn expectation_maximisation(z: &[f64], sorted: &[f64], split: usize) -> Mixture {
    let start: Vec<f64> = z.iter().map(|&v| f64::from(u8::from(v >= sorted[split]))).collect();
    let mut fit = Mixture::maximise(z, &start);
    for _ in 0..500 {
        let upper: Vec<f64> = z.iter().map(|&v| fit.posterior(v)).collect();
        let next = Mixture::maximise(z, &upper);
        let gain = next.log_likelihood - fit.log_likelihood;
        if next.log_likelihood.is_nan() || gain < 1e-9 {
            break;
        }
        fit = next;
    }
    fit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::covariates::Values;

    const LUCK: [f64; 9] = [24.1, 37.2, 23.8, 24.4, 36.8, 37.5, 24.0, 37.0, 23.9];

    #[test]
    fn the_placement_article_s_two_modes() {
        let found = detect(&LUCK).unwrap();
        assert_eq!(found.modes[0].members, [0, 2, 3, 6, 8]);
        assert_eq!(found.modes[1].members, [1, 4, 5, 7]);
        assert!((found.modes[0].mean - 24.04).abs() < 0.01 && (found.modes[1].mean - 37.125).abs() < 0.01);
        assert!((found.modes[1].weight - 4.0 / 9.0).abs() < 1e-6);
    }

    #[test]
    fn one_mode_too_few_values_and_one_outlier_are_not_two_modes() {
        assert_eq!(detect(&[10.0, 10.2, 9.9, 10.1, 10.05, 9.95, 10.0, 10.1]), None);
        assert_eq!(detect(&[1.0, 1.1, 5.0, 5.1]), None);
        assert_eq!(detect(&[7.0; 12]), None);
        assert_eq!(detect(&[10.0, 10.1, 9.9, 10.0, 10.2, 9.8, 10.1, 99.0]), None);
    }

    #[test]
    fn exact_repeats_do_not_break_the_fit() {
        let found = detect(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]).unwrap();
        assert_eq!((found.modes[0].mean, found.modes[1].mean), (1.0, 2.0));
    }

    #[test]
    fn the_covariate_that_separates_the_modes_is_named() {
        let found = detect(&LUCK).unwrap();
        let text = |v: &[&str]| Values::Categorical(v.iter().map(|s| Some((*s).to_string())).collect());
        let covariates = [
            Covariate { name: "client node".into(), values: text(&["0", "1", "0", "1", "0", "1", "0", "1", "0"]) },
            Covariate { name: "server node".into(), values: text(&["0", "1", "0", "0", "1", "1", "0", "1", "0"]) },
            Covariate { name: "trial".into(), values: Values::Numeric((0..9).map(|i| Some(f64::from(i))).collect()) },
        ];
        let named = association(&found, &covariates, 1999, 1).unwrap();
        assert_eq!(named[0].name, "server node");
        assert!((named[0].share - 1.0).abs() < 1e-12);
        // Of the 126 ways to choose 4 of 9 trials one reproduces the split: p is near 1/126.
        assert!((named[0].p_value - 1.0 / 126.0).abs() < 0.006, "{}", named[0].p_value);
        assert!(named[0].p_adjusted < 0.05 && named[1].p_adjusted > 0.05);
    }
}
