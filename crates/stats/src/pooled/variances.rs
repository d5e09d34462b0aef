//! Tests whether many small samples have equal variances, so that they may be pooled.

use crate::descriptive::mean;
use crate::quantiles::{f_upper_tail, normal, trigamma};

/// A variance with its degrees of freedom.
pub(super) type Variance = (f64, f64);

/// The pooled variance of all samples.
pub(super) fn pooled(samples: &[Variance]) -> Variance {
    let df: f64 = samples.iter().map(|(_, df)| df).sum();
    (samples.iter().map(|(variance, df)| variance * df).sum::<f64>() / df, df)
}

/// Whether no sample varies more than the rest (the largest against all others, Bonferroni), and the logarithms of the
/// variances scatter no more than expected by chance (the variance of ln of a chi-squared is a trigamma). `chance` is
/// the probability of rejecting equal variances when they are equal, for each of the two tests.
pub(super) fn alike(samples: &[Variance], chance: f64) -> bool {
    let n = samples.len() as f64;
    if samples.len() < 2 || samples.iter().any(|(variance, df)| *variance <= 0.0 || *df < 1.0) {
        return false;
    }
    let largest = (0..samples.len()).max_by(|a, b| samples[*a].0.total_cmp(&samples[*b].0)).unwrap_or(0);
    let others: Vec<Variance> =
        (0..samples.len()).filter(|place| *place != largest).map(|place| samples[place]).collect();
    let (rest, rest_df) = pooled(&others);
    if f_upper_tail(samples[largest].0 / rest, samples[largest].1, rest_df) * n < chance {
        return false;
    }
    let logs: Vec<f64> = samples.iter().map(|(variance, _)| variance.ln()).collect();
    let Some(centre) = mean(&logs) else { return false };
    let spread = logs.iter().map(|log| (log - centre).powi(2)).sum::<f64>() / (n - 1.0);
    let expected = samples.iter().map(|(_, df)| trigamma(df / 2.0)).sum::<f64>() / n;
    // Approximates the kurtosis of ln of a chi-squared minus 1: 6 at one degree of freedom, 3.6 at three, 2 at many.
    let heavy = 2.0 + 4.0 / pooled(samples).1 * n;
    spread <= expected * (1.0 + normal(1.0 - chance) * (heavy / n).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_varies_alike_is_pooled_and_one_that_varies_more_is_seen() {
        let some = [(1.0, 3.0), (1.6, 3.0), (0.3, 3.0), (1.1, 3.0), (0.7, 3.0)];
        assert!(alike(&some, 0.02));
        let (variance, df) = pooled(&some);
        assert!((variance - 0.94).abs() < 1e-12 && df == 15.0, "{variance} {df}");
        assert!(!alike(&[some.as_slice(), &[(40.0, 3.0)]].concat(), 0.02));
        assert!(!alike(&[(1e-6, 3.0), (1.0, 3.0), (1e-4, 3.0), (0.5, 3.0), (1e-5, 3.0), (2.0, 3.0)], 0.02));
        assert!(!alike(&[(0.0, 3.0), (1.0, 3.0)], 0.02));
    }
}
