//! A straight line through the logarithms of the runs, with or without steps: a drift that stays under every step.

use super::resemblance;
use crate::interval::{Estimate, Interval};
use crate::linear::{dot, gram, independent_columns, inverse_spd, moment};
use crate::quantiles::{t_two_sided, t_upper_tail};

/// A trend that no step explains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// What the trend makes of the last run over the first one: exp of slope times runs less one.
    pub ratio: Estimate,
    /// Two-sided chance of so steep a slope where there is none: t test of least squares on logarithms, its variance
    /// greater by what the resemblance of neighbouring runs costs.
    pub p_value: f64,
}

/// Least squares with a level a segment and, where asked for, one slope.
pub(super) struct Model {
    /// n ln(RSS / n) + k ln n, k the levels, the places of steps (Yao 1988) and the slope.
    pub bic: f64,
    runs: usize,
    slope: Option<Slope>,
}

struct Slope {
    value: f64,
    /// Its standard error if runs were independent.
    error: f64,
    freedom: f64,
    residuals: Vec<f64>,
}

/// Floor of the mean square that is left: values that agree to the last digit have no BIC otherwise.
const NOTHING: f64 = 1e-24;

impl Model {
    /// Of `values` with steps at `places`, the first run after each.
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

    /// The slope as what it makes of the whole line; none without a slope or where nothing is left to judge it by.
    pub fn drift(&self, confidence: f64) -> Option<Drift> {
        let slope = self.slope.as_ref()?;
        let means = self.runs.saturating_sub(slope.freedom as usize);
        let error = slope.error * resemblance::of_residuals(&slope.residuals, means, self.runs).sqrt();
        if error.is_nan() || error <= NOTHING.sqrt() {
            return None;
        }
        // The column of the slope goes from -1 to 1.
        let (whole, error) = (2.0 * slope.value, 2.0 * error);
        let reach = t_two_sided(confidence, slope.freedom) * error;
        let p_value = (2.0 * t_upper_tail((whole / error).abs(), slope.freedom)).min(1.0);
        let ci = Interval::finite((whole - reach).exp(), (whole + reach).exp());
        let value = whole.exp();
        value.is_finite().then_some(Drift { ratio: Estimate { value, ci }, p_value })
    }
}

/// Least-squares slope a run, without steps.
pub(super) fn slope_alone(values: &[f64]) -> f64 {
    let middle = (values.len() - 1) as f64 / 2.0;
    let model = Model::of(values, &[], true);
    model.slope.map_or(0.0, |slope| slope.value / middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slope's t test against the textbook's sums.
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
