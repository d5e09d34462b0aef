//! Quantiles and tail probabilities of distributions, for any positive degrees of freedom.

use statrs::distribution::{ChiSquared, ContinuousCDF, FisherSnedecor, Normal, StudentsT};

/// Above this many degrees of freedom t is computed from its expansion about the normal, where statrs loses digits.
const LARGE_DF: f64 = 1000.0;

/// Quantile of the standard normal, `p` in (0, 1).
pub(crate) fn normal(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}

/// P(Z <= z) of the standard normal.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// Two-sided normal multiplier of a confidence level, e.g. 1.96 for 0.95.
pub(crate) fn normal_two_sided(confidence: f64) -> f64 {
    normal(0.5 + confidence / 2.0)
}

/// Quantile of Student's t. Infinite without degrees of freedom.
pub(crate) fn t(p: f64, df: f64) -> f64 {
    if df > LARGE_DF {
        // Cornish-Fisher, Abramowitz & Stegun 26.7.5; the error is of the order df^-3.
        let z = normal(p);
        let first = (z.powi(3) + z) / (4.0 * df);
        return z + first + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * df * df);
    }
    StudentsT::new(0.0, 1.0, df).map_or(f64::INFINITY, |d| d.inverse_cdf(p))
}

/// Two-sided t multiplier of a confidence level.
pub(crate) fn t_two_sided(confidence: f64, df: f64) -> f64 {
    t(0.5 + confidence / 2.0, df)
}

/// P(T > x) of Student's t; 1 without degrees of freedom or statistic (no conclusion). x may be infinite.
pub(crate) fn t_upper_tail(x: f64, df: f64) -> f64 {
    if x.is_nan() {
        return 1.0;
    }
    if x == f64::INFINITY {
        return 0.0;
    }
    if x == f64::NEG_INFINITY {
        return 1.0;
    }
    if df > 1e6 {
        return normal_cdf(-x);
    }
    StudentsT::new(0.0, 1.0, df).map_or(1.0, |d| d.sf(x))
}

/// P(F > x) of the F distribution; 0 for infinite x, 1 without degrees of freedom or statistic.
pub(crate) fn f_upper_tail(x: f64, df: f64, df_rest: f64) -> f64 {
    if x == f64::INFINITY {
        return 0.0;
    }
    FisherSnedecor::new(df, df_rest).ok().filter(|_| x.is_finite()).map_or(1.0, |d| d.sf(x))
}

/// The quantile of the chi-squared distribution with `df` degrees of freedom.
pub(crate) fn chi_squared(p: f64, df: f64) -> f64 {
    ChiSquared::new(df).map_or(f64::INFINITY, |d| d.inverse_cdf(p))
}

/// Trigamma, psi'(x), for x > 0: recurrence up to x >= 10, then the asymptotic series (Abramowitz & Stegun 6.4.12).
/// The variance of ln(chi-squared with v degrees of freedom) is psi'(v/2).
pub(crate) fn trigamma(x: f64) -> f64 {
    let mut sum = 0.0;
    let mut x = x;
    while x < 10.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let i = 1.0 / (x * x);
    sum + 1.0 / x + i / 2.0 + i / x * (1.0 / 6.0 - i * (1.0 / 30.0 - i * (1.0 / 42.0 - i / 30.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_and_chi_squared_agree_with_the_printed_tables() {
        for (df, expected) in [(1.0, 12.7062), (4.0, 2.7764), (9.0, 2.2622), (29.0, 2.0452), (120.0, 1.9799)] {
            assert!((t_two_sided(0.95, df) - expected).abs() < 1e-4, "{df}");
        }
        assert!((t_two_sided(0.95, 1001.0) - t_two_sided(0.95, 999.0)).abs() < 1e-5);
        assert!((chi_squared(0.975, 9.0) - 19.0228).abs() < 1e-4);
        assert!((chi_squared(0.025, 9.0) - 2.7004).abs() < 1e-4);
    }

    #[test]
    fn trigamma_at_known_points() {
        let pi2 = std::f64::consts::PI.powi(2);
        assert!((trigamma(1.0) - pi2 / 6.0).abs() < 1e-12);
        assert!((trigamma(0.5) - pi2 / 2.0).abs() < 1e-12);
        assert!((trigamma(4.5) - (pi2 / 2.0 - 4.0 * (1.0 + 1.0 / 9.0 + 1.0 / 25.0 + 1.0 / 49.0))).abs() < 1e-12);
    }
}
