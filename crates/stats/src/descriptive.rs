//! Descriptive statistics of one slice.

/// Arithmetic mean, summed about the first value so that large offsets lose no digits. `None` when empty or not finite.
pub fn mean(values: &[f64]) -> Option<f64> {
    let &first = values.first()?;
    let mean = first + values.iter().map(|v| (v - first) / values.len() as f64).sum::<f64>();
    mean.is_finite().then_some(mean)
}

/// Sample variance, sum (x - mean)^2 / (n - 1). `None` below two values, and when the square of the standard deviation
/// overflows or underflows.
pub fn variance(values: &[f64]) -> Option<f64> {
    let sd = std_dev(values)?;
    Some(sd * sd).filter(|variance| variance.is_normal() || sd == 0.0)
}

/// Sample standard deviation, in the unit of the values. Deviations are divided by the largest before they are squared,
/// so that neither tiny nor huge values are lost. `None` below two values or when not finite.
pub fn std_dev(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let centre = mean(values)?;
    let largest = values.iter().map(|v| (v - centre).abs()).fold(0.0, f64::max);
    if largest == 0.0 {
        return Some(0.0);
    }
    let squares: f64 = values.iter().map(|v| ((v - centre) / largest).powi(2)).sum();
    let sd = largest * (squares / (values.len() - 1) as f64).sqrt();
    sd.is_finite().then_some(sd)
}

/// Coefficient of variation as a fraction, standard deviation / |mean|. `None` below two values or when the mean is 0.
pub fn cov(values: &[f64]) -> Option<f64> {
    let cov = std_dev(values)? / mean(values)?.abs();
    cov.is_finite().then_some(cov)
}

/// Smallest and largest value.
pub fn min_max(values: &[f64]) -> Option<(f64, f64)> {
    let &first = values.first()?;
    Some(values.iter().fold((first, first), |(low, high), &v| (low.min(v), high.max(v))))
}

/// Quantile `p` in [0, 1] by linear interpolation of the order statistics at h = (n - 1) p (type 7 of Hyndman & Fan,
/// "Sample quantiles in statistical packages", 1996; the default of R and NumPy).
pub fn quantile(values: &[f64], p: f64) -> Option<f64> {
    if values.is_empty() || !(0.0..=1.0).contains(&p) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(quantile_of_sorted(&sorted, p))
}

/// [`quantile`] of values that are already in ascending order and not empty.
pub(crate) fn quantile_of_sorted(sorted: &[f64], p: f64) -> f64 {
    let h = (sorted.len() - 1) as f64 * p;
    let below = h.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let (low, high, share) = (sorted[below], sorted[above], h - h.floor());
    let between = low + share * (high - low);
    // The difference of finite values may not be finite.
    if between.is_finite() { between } else { low * (1.0 - share) + high * share }
}

/// The middle value; of an even count, the mean of the two in the middle.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Lag-1 autocorrelation, sum (x_i - m)(x_{i+1} - m) / sum (x_i - m)^2 (Box & Jenkins). `None` below three values or
/// when they are all equal. Under independence it is near 0 with standard error about 1/sqrt(n).
pub fn lag1_autocorrelation(values: &[f64]) -> Option<f64> {
    if values.len() < 3 {
        return None;
    }
    let centre = mean(values)?;
    let largest = values.iter().map(|v| (v - centre).abs()).fold(0.0, f64::max);
    let away: Vec<f64> = values.iter().map(|v| (v - centre) / largest).collect();
    let lagged: f64 = away.windows(2).map(|w| w[0] * w[1]).sum();
    let total: f64 = away.iter().map(|v| v * v).sum();
    let r = lagged / total;
    r.is_finite().then_some(r)
}

/// Means of consecutive batches of `size` values. A remainder shorter than `size` is left out at the front, where the
/// warm-up is. Use them instead of the values when [`lag1_autocorrelation`] is not near 0.
pub fn batch_means(values: &[f64], size: usize) -> Vec<f64> {
    if size == 0 {
        return Vec::new();
    }
    values[values.len() % size..].chunks_exact(size).filter_map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptive_statistics_match_textbook_values() {
        // NIST "Univariate summary statistics" NumAcc1: three large values that differ by 1.
        let numacc1 = [10_000_001.0, 10_000_003.0, 10_000_002.0];
        assert_eq!(mean(&numacc1), Some(10_000_002.0));
        assert_eq!(std_dev(&numacc1), Some(1.0));
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&values), Some(5.0));
        assert!((variance(&values).unwrap() - 32.0 / 7.0).abs() < 1e-12);
        assert!((cov(&values).unwrap() - (32.0f64 / 7.0).sqrt() / 5.0).abs() < 1e-12);
        // R: quantile(c(1,2,3,4), 0.4) = 2.2
        assert!((quantile(&[4.0, 1.0, 3.0, 2.0], 0.4).unwrap() - 2.2).abs() < 1e-12);
        assert_eq!(median(&[3.0, 1.0]), Some(2.0));
    }

    #[test]
    fn spread_does_not_depend_on_the_unit() {
        let values = [1.0, 2.0, 4.0];
        for unit in [1e-300, 1e-150, 1.0, 1e150, 1e300] {
            let scaled = values.map(|v| v * unit);
            assert!((std_dev(&scaled).unwrap() / unit / std_dev(&values).unwrap() - 1.0).abs() < 1e-12, "{unit}");
            assert!((cov(&scaled).unwrap() - cov(&values).unwrap()).abs() < 1e-12, "{unit}");
        }
    }

    #[test]
    fn autocorrelation_distinguishes_an_alternating_from_a_trending_series() {
        // 1..5: deviations -2..2, lagged products 2 + 0 + 0 + 2 = 4 over 10.
        assert!((lag1_autocorrelation(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap() - 0.4).abs() < 1e-12);
        assert!(lag1_autocorrelation(&[1.0, -1.0, 1.0, -1.0, 1.0, -1.0]).unwrap() < -0.8);
        assert_eq!(lag1_autocorrelation(&[1.0; 9]), None);
    }

    #[test]
    fn batches_keep_the_end_of_the_series() {
        assert_eq!(batch_means(&[100.0, 1.0, 3.0, 5.0, 7.0], 2), [2.0, 6.0]);
        assert!(batch_means(&[1.0], 0).is_empty());
    }

    #[test]
    fn statistics_that_do_not_exist_are_none() {
        assert_eq!((mean(&[]), variance(&[1.0]), cov(&[-1.0, 1.0]), quantile(&[1.0], 1.5)), (None, None, None, None));
        assert_eq!(mean(&[f64::NAN]), None);
    }
}
