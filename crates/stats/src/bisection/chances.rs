//! The probability of every commit, given all pairs so far.

use crate::error::{Error, all_finite};
use crate::sequential::Pair;

/// Prior information on the order effect (whether a build ran first or second in a pair), in units of pairs.
/// Negligible, but it keeps the equations regular when the same side ran first in all pairs of a build.
const OF_PLACE: f64 = 0.01;
/// Lower limit of the residual sum of squares, as a share of the total: with residuals of 0 the likelihood would be
/// infinite.
const NOTHING: f64 = 1e-18;

/// A pair of two builds of the range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BuildPair {
    /// Position of build A.
    pub a: usize,
    /// Position of build B.
    pub b: usize,
    /// ln(B / A) of their run times, so that above 0 means that B is slower, and which ran first.
    pub pair: Pair,
}

/// The probability of each commit 1..=`last` to be the first slower one, in this order; they sum to 1. Before the first
/// pair all are equal.
///
/// With s = \[b >= k\] - \[a >= k\] and x = +1/2 where B ran second, -1/2 where it ran first, the model of commit k is
/// y = delta s + phi x + a normal error of unknown standard deviation sigma. With flat priors on delta and ln sigma,
/// and phi ~ N(0, sigma^2 / 0.01), the likelihood of k is |X'X + L|^(-1/2) RSS^(-(n - 1) / 2), where L is the prior
/// information on phi and RSS = y'y - y'X (X'X + L)^-1 X'y.
///
/// # Errors
/// [`Error::NotFinite`] for a log ratio that is not finite.
pub fn chances(last: usize, seen: &[BuildPair]) -> Result<Vec<f64>, Error> {
    let values: Vec<f64> = seen.iter().map(|seen| seen.pair.log_ratio).collect();
    all_finite("log ratios of pairs", &values)?;
    let logs: Vec<f64> = (1..=last).map(|commit| likelihood(commit, seen)).collect();
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|log| (log - most).exp()).collect();
    let all: f64 = weights.iter().sum();
    Ok(weights.into_iter().map(|weight| weight / all).collect())
}

/// The logarithm of the likelihood that `commit` is the first slower one; 0 with fewer than two pairs, or when no pair
/// has this commit between its builds.
fn likelihood(commit: usize, seen: &[BuildPair]) -> f64 {
    let (mut ss, mut sx, mut xx, mut sy, mut xy, mut yy) = (0.0, 0.0, OF_PLACE, 0.0, 0.0, 0.0);
    for BuildPair { a, b, pair } in seen {
        let s = f64::from(u8::from(*b >= commit)) - f64::from(u8::from(*a >= commit));
        let x = if pair.b_first { -0.5 } else { 0.5 };
        let y = pair.log_ratio;
        (ss, sx, xx) = (ss + s * s, sx + s * x, xx + x * x);
        (sy, xy, yy) = (sy + s * y, xy + x * y, yy + y * y);
    }
    let determinant = ss * xx - sx * sx;
    if determinant <= 0.0 || seen.len() < 2 {
        return 0.0;
    }
    let explained = (xx * sy * sy - 2.0 * sx * sy * xy + ss * xy * xy) / determinant;
    let left = (yy - explained).max(NOTHING * yy).max(f64::MIN_POSITIVE);
    -0.5 * determinant.ln() - 0.5 * (seen.len() - 1) as f64 * left.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(a: usize, b: usize, log_ratio: f64, b_first: bool) -> BuildPair {
        BuildPair { a, b, pair: Pair { log_ratio, b_first } }
    }

    /// Compares the closed form with the integral over delta, phi and sigma that it solves.
    #[test]
    fn the_likelihood_is_that_of_the_model() {
        let all = [
            seen(0, 3, 0.031, false),
            seen(0, 3, 0.024, true),
            seen(0, 1, 0.006, false),
            seen(0, 2, 0.019, true),
            seen(1, 2, 0.033, false),
        ];
        let integral = |commit: usize| -> f64 {
            let mut sum = 0.0;
            for step in 0..90 {
                let sd = (-7.5 + 0.06 * f64::from(step)).exp();
                // Both in units of sigma, wide enough for all of the probability mass.
                for i in -120..=240 {
                    for j in -120..=120 {
                        let (delta, phi) = (0.1 * f64::from(i) * sd, 0.1 * f64::from(j) * sd);
                        let squares: f64 = all
                            .iter()
                            .map(|seen| {
                                let s = f64::from(u8::from(seen.b >= commit)) - f64::from(u8::from(seen.a >= commit));
                                let x = if seen.pair.b_first { -0.5 } else { 0.5 };
                                (seen.pair.log_ratio - delta * s - phi * x).powi(2)
                            })
                            .sum();
                        let n = all.len() as f64;
                        // d delta and the density of phi, both of which contain sigma; d ln sigma.
                        let log = -n * sd.ln() - (squares + OF_PLACE * phi * phi) / (2.0 * sd * sd) + sd.ln();
                        sum += log.exp();
                    }
                }
            }
            sum
        };
        let sums: Vec<f64> = (1..=3).map(integral).collect();
        let all_of_it: f64 = sums.iter().sum();
        for (found, sum) in chances(3, &all).unwrap().into_iter().zip(sums) {
            assert!((found - sum / all_of_it).abs() < 0.004, "{found} {}", sum / all_of_it);
        }
    }

    #[test]
    fn without_pairs_all_commits_are_equally_likely_and_without_noise_one_is_certain() {
        assert_eq!(chances(4, &[]).unwrap(), [0.25; 4]);
        let ends = [seen(0, 4, 0.03, false), seen(0, 4, 0.03, true), seen(0, 2, 0.03, true), seen(0, 1, 0.0, false)];
        let found = chances(4, &ends).unwrap();
        assert!(found[1] > 0.999_999, "{found:?}");
        assert!(chances(4, &[seen(0, 1, f64::NAN, true)]).is_err());
        // An order effect alone is not a step.
        let place = |b: usize| [seen(0, b, 0.1, false), seen(0, b, -0.1, true)];
        let both = [place(2), place(2), place(1)].concat();
        assert!(chances(2, &both).unwrap().iter().all(|chance| (0.2..0.8).contains(chance)));
    }
}
