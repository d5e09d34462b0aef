//! A straight line through the logarithms of the runs, with or without steps: detects a drift too slow to be a step.

use super::resemblance;
use crate::interval::{Estimate, Interval};
use crate::linear::{dot, gram, independent_columns, inverse_spd, moment};
use crate::quantiles::{t_two_sided, t_upper_tail};

/// A trend that steps do not explain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// The last run divided by the first one, according to the trend: exp(slope x (runs - 1)).
    pub ratio: Estimate,
    /// Two-sided p-value of the slope: t test of least squares on logarithms, with the variance inflated for
    /// autocorrelation between neighbouring runs.
    pub p_value: f64,
}

/// Least-squares fit of one level per segment and, if `sloped`, one slope.
pub(super) struct Model {
    /// n ln(RSS / n) + k ln n, where k counts the levels, the positions of steps (Yao 1988) and the slope.
    pub bic: f64,
    runs: usize,
    slope: Option<Slope>,
}

struct Slope {
    value: f64,
    /// Its standard error under independence of the runs.
    error: f64,
    freedom: f64,
    residuals: Vec<f64>,
}

/// Lower limit of the residual mean square: values that agree to the last digit would have no BIC.
const NOTHING: f64 = 1e-24;

impl Model {
    /// Fits `values` with steps at `places`, the first run after each.
    pub fn of(values: &[f64], places: &[usize], sloped: bool) -> Self {
        let runs = values.len();
        let row = |place: usize| {
            let levels = places.iter().map(|first_after| f64::from(u8::from(place >= *first_after)));
            let middle = (runs - 1) as f64 / 2.0;
            let slope = sloped.then_some((place as f64 - middle) / middle);
            std::iter::once(1.0).chain(levels).chain(slope).collect::<Vec<f64>>()
        };
        let rows: Vec<Vec<f64>> = (0..runs).map(row).collect();
        let columns = rows.first().map_or(0, Vec::len);
        let usable = independent_columns(&rows).len() == columns;
        let ones = vec![1.0; runs];
        let inverse = inverse_spd(&gram(&rows, &ones)).filter(|_| usable && runs > columns);
        let Some(inverse) = inverse else { return Self { bic: f64::INFINITY, runs, slope: None } };
        let right = moment(&rows, &ones, values);
        let fitted: Vec<f64> = inverse.iter().map(|line| dot(line, &right)).collect();
        let residuals: Vec<f64> = rows.iter().zip(values).map(|(row, value)| value - dot(row, &fitted)).collect();
        let squares = dot(&residuals, &residuals);
        let n = runs as f64;
        let free = (columns + places.len()) as f64;
        let bic = n * (squares / n).max(NOTHING).ln() + free * n.ln();
        let freedom = (runs - columns) as f64;
        let slope = sloped.then(|| {
            let last = columns - 1;
            let error = (squares / freedom * inverse[last][last]).sqrt();
            Slope { value: fitted[last], error, freedom, residuals }
        });
        Self { bic, runs, slope }
    }

    /// The slope as the change over the whole series; `None` without a slope, or without residuals for its standard
    /// error.
    pub fn drift(&self, confidence: f64) -> Option<Drift> {
        let slope = self.slope.as_ref()?;
        let means = self.runs.saturating_sub(slope.freedom as usize);
        let error = slope.error * resemblance::of_residuals(&slope.residuals, means, self.runs).sqrt();
        if error.is_nan() || error <= NOTHING.sqrt() {
            return None;
        }
        // The slope's regressor goes from -1 to 1.
        let (whole, error) = (2.0 * slope.value, 2.0 * error);
        let reach = t_two_sided(confidence, slope.freedom) * error;
        let p_value = (2.0 * t_upper_tail((whole / error).abs(), slope.freedom)).min(1.0);
        let ci = Interval::finite((whole - reach).exp(), (whole + reach).exp());
        let value = whole.exp();
        value.is_finite().then_some(Drift { ratio: Estimate { value, ci }, p_value })
    }
}

/// Least-squares slope per run, without steps.
pub(super) fn slope_alone(values: &[f64]) -> f64 {
    let middle = (values.len() - 1) as f64 / 2.0;
    let model = Model::of(values, &[], true);
    model.slope.map_or(0.0, |slope| slope.value / middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the t test of the slope with the textbook formulas.
    #[test]
    fn the_slope_is_that_of_least_squares() {
        let values = [1.0, 1.4, 1.1, 1.9, 1.6, 2.3, 2.0, 2.2];
        let n = values.len() as f64;
        let (mean_x, mean_y) = (3.5, values.iter().sum::<f64>() / n);
        let sxx: f64 = (0..8).map(|i| (f64::from(i) - mean_x).powi(2)).sum();
        let sxy: f64 = values.iter().enumerate().map(|(i, y)| (i as f64 - mean_x) * (y - mean_y)).sum();
        assert!((slope_alone(&values) - sxy / sxx).abs() < 1e-12);
        let rss: f64 =
            values.iter().enumerate().map(|(i, y)| (y - mean_y - sxy / sxx * (i as f64 - mean_x)).powi(2)).sum();
        let slope = Model::of(&values, &[], true).slope.unwrap();
        let error = (rss / (n - 2.0) / sxx).sqrt();
        assert!((slope.value / slope.error - sxy / sxx / error).abs() < 1e-9);
        assert_eq!(slope.freedom, 6.0);
    }

    #[test]
    fn a_step_is_explained_by_a_step_and_a_line_by_a_line() {
        let wobble = |i: u32| f64::from(i * 37 % 11) / 100.0;
        let step: Vec<f64> = (0..20).map(|i| f64::from(u8::from(i >= 12)) + wobble(i)).collect();
        assert!(Model::of(&step, &[12], false).bic < Model::of(&step, &[], true).bic);
        let line: Vec<f64> = (0..20).map(|i| f64::from(i) / 10.0 + wobble(i)).collect();
        assert!(Model::of(&line, &[10], false).bic > Model::of(&line, &[], true).bic);
        assert!(Model::of(&line, &[], true).drift(0.95).unwrap().p_value < 1e-6);
    }
}
