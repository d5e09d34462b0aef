//! The effect of autocorrelation between neighbouring runs on a test.

use super::split::{SHORTEST, segments};
use crate::descriptive::{lag1_autocorrelation, mean};
use crate::quantiles::t_upper_tail;
use crate::serial::RunOrder;

/// Bias correction of the autocorrelation r of n residuals: this, times (1 + r) / n, is added for each mean that was
/// fitted. About two fifths of it is the bias of r, with the split positions chosen from the data; the rest allows for
/// the large uncertainty of r with few runs. Chosen together with [`APART`] by simulation among 3, 4 and 5: at an
/// autocorrelation of 0.4 a change is reported in 9.2, 7.0 and 4.8% of series of 14 runs without a change, and in 4.5,
/// 3.5 and 1.8% of series of 40.
const ADDED: f64 = 5.0;
/// A position chosen among m counts as one of m to this power, because neighbouring positions share most of the runs.
const APART: f64 = 0.75;
/// Upper limit of the estimated autocorrelation.
const LARGEST: f64 = 0.9;

/// p-value of each step of a series that is split at `places`, with the position chosen among all possible ones: a t
/// test of the means on both sides, with the pooled residual variance of the segments, inflated for autocorrelation. 0
/// when there are no residuals.
///
/// The autocorrelation is not tested first, because such a test has no power where it matters: at an autocorrelation of
/// 0.4 it let 15% of series of 40 runs without a change pass, instead of 5%.
pub(super) fn p_values(values: &[f64], places: &[usize]) -> Vec<f64> {
    let all = segments(places, values.len());
    let means: Vec<f64> = all.iter().map(|segment| mean(&values[segment.clone()]).unwrap_or(0.0)).collect();
    let of_segments = all.iter().zip(&means);
    let left: Vec<f64> =
        of_segments.flat_map(|(segment, mean)| values[segment.clone()].iter().map(move |value| value - mean)).collect();
    let cost = of_residuals(&left, all.len(), values.len() / all.len());
    let freedom = values.len().saturating_sub(all.len()) as f64;
    let variance = left.iter().map(|left| left * left).sum::<f64>() / freedom * cost;
    let possible = (values.len() + 1).saturating_sub(2 * SHORTEST) as f64;
    let chance = |turn: usize| {
        let error = (variance / all[turn].len() as f64 + variance / all[turn + 1].len() as f64).sqrt();
        let statistic = ((means[turn + 1] - means[turn]) / error).abs();
        (2.0 * possible.powf(APART) * t_upper_tail(statistic, freedom)).min(1.0)
    };
    (0..places.len()).map(chance).collect()
}

/// Factor by which autocorrelation increases the variance of a mean of `over` runs: [`RunOrder::inflation`] of an AR(1)
/// process, with the bias-corrected autocorrelation of the residuals of a model with `means` fitted means. 1 when the
/// residuals have no autocorrelation.
pub(super) fn of_residuals(residuals: &[f64], means: usize, over: usize) -> f64 {
    let n = residuals.len() as f64;
    let Some(found) = lag1_autocorrelation(residuals) else { return 1.0 };
    let correlation = (found + ADDED * means as f64 * (1.0 + found) / n).clamp(0.0, LARGEST);
    RunOrder { correlation, p_value: 0.0, trials: residuals.len() }.inflation(over.max(2)).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_no_resemblance_and_slow_waves_are() {
        let saw = |i: usize| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
        let stepped: Vec<f64> = (0..40).map(|i| saw(i) + if i < 20 { 0.0 } else { 9.0 }).collect();
        assert!(p_values(&stepped, &[20])[0] < 1e-12);
        let waves: Vec<f64> = (0..40).map(|i| (f64::from(i) / 6.4).sin()).collect();
        assert!(p_values(&waves, &[20])[0] > 0.04, "{:?}", p_values(&waves, &[20]));
        assert_eq!(p_values(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0], &[3]), [0.0]);
    }

    /// The residuals of each half have an autocorrelation of 0.6, with few runs: the variance of a mean is inflated 16
    /// times.
    #[test]
    fn a_step_of_many_deviations_is_one_however_much_short_halves_resemble_themselves() {
        let half = [0.0, 0.4, 1.0, 0.8, 0.2, -0.6, -1.0];
        let runs = |step: f64| half.iter().copied().chain(half.iter().map(|v| v + step)).collect::<Vec<f64>>();
        let (small, large) = (p_values(&runs(2.0), &[7])[0], p_values(&runs(14.0), &[7])[0]);
        assert!(small > 0.2 && large < 0.001, "{small} {large}");
    }
}
