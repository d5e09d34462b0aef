//! What neighbouring runs that resemble each other cost a test.

use super::split::segments;
use crate::descriptive::{lag1_autocorrelation, mean};
use crate::serial::RunOrder;

/// What is added to the correlation of `runs` residuals of two segments, times 1 + correlation over runs. Their own
/// bias, with the places chosen, is about (4 + 8 r) / n; the rest is for how little so few runs say of a correlation.
const ADDED: f64 = 8.0;
/// Correlation beyond which nothing is claimed of its size.
const LARGEST: f64 = 0.9;

/// By how much runs that resemble their neighbours widen the variance of the mean of a segment, when the line is split
/// at `places`: [`RunOrder::inflation`] of an AR(1) process at the correlation of what the segments leave, corrected
/// upwards. 1 where nothing is left that could be correlated.
///
/// Without a test of the correlation first, for it has no power where it matters: at a correlation of 0.4 such a gate
/// let 15% of lines of 40 runs without a change through in place of 5%.
pub(super) fn cost(values: &[f64], places: &[usize]) -> f64 {
    let all = segments(places, values.len());
    let mut left = Vec::with_capacity(values.len());
    for segment in &all {
        let centre = mean(&values[segment.clone()]).unwrap_or(0.0);
        left.extend(values[segment.clone()].iter().map(|value| value - centre));
    }
    of_residuals(&left, all.len(), values.len() / all.len())
}

/// The same of residuals of a model with so many means, for means over `over` runs.
pub(super) fn of_residuals(residuals: &[f64], means: usize, over: usize) -> f64 {
    let n = residuals.len() as f64;
    let Some(found) = lag1_autocorrelation(residuals) else { return 1.0 };
    let further = means.saturating_sub(2) as f64 * (1.0 + 3.0 * found);
    let correlation = (found + (ADDED * (1.0 + found) + further) / n).clamp(0.0, LARGEST);
    RunOrder { correlation, p_value: 0.0, trials: residuals.len() }.inflation(over.max(2)).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_no_resemblance_and_slow_waves_are() {
        let saw = |i: usize| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
        let stepped: Vec<f64> = (0..40).map(|i| saw(i) + if i < 20 { 0.0 } else { 9.0 }).collect();
        assert_eq!(cost(&stepped, &[20]), 1.0);
        assert!(cost(&stepped, &[]) > 8.0);
        let waves: Vec<f64> = (0..40).map(|i| f64::from(i).sin()).collect();
        assert!(cost(&waves, &[20]) > 3.0);
        assert_eq!(cost(&[2.0; 12], &[6]), 1.0);
    }
}
