//! The spreads of two conditions that ran in the same blocks, one at either level of a factor.
//!
//! A trial is the effect of its block plus an error of its own. The mean of a level in a block is then a single trial,
//! which cannot be separated from the block. But the difference of both trials of a block has no block effect, and the
//! slope of the regression of the high level's trials on these differences is the share of that level's errors in their
//! variance: v_high / (v_high + v_low) (Grubbs, "On estimating precision of measuring instruments and product
//! variability", Journal of the American Statistical Association 43, 1948).

use super::spread_test::SpreadTest;
use crate::descriptive::{mean, std_dev};
use crate::quantiles::{t_two_sided, t_upper_tail};

/// Fewest blocks that leave a degree of freedom.
const FEWEST: usize = 3;

/// ln of the ratio of the variances without block effects, high level divided by low level, its variance and the
/// degrees of freedom of that variance. The variance is infinite where the interval of the share is not within 0 and 1:
/// there is then no limit of the ratio. The share is at least one standard error from 0 and 1, so that a quiet level
/// without any estimated variance is not "infinitely" quieter. `None` where the share is not known to a half.
///
/// The standard error is that for unequal variances, HC3 (MacKinnon and White, Journal of Econometrics 29, 1985): the
/// slope of heavy-tailed errors varies more than that of normal ones.
pub(super) fn ratio(high: &[f64], low: &[f64], confidence: f64) -> Option<(f64, f64, f64)> {
    let n = high.len() as f64;
    if high.len() < FEWEST {
        return None;
    }
    let (centre, centre_low) = (mean(high)?, mean(low)?);
    let pairs: Vec<(f64, f64)> =
        high.iter().zip(low).map(|(high, low)| (high - centre, high - centre - (low - centre_low))).collect();
    let squares: f64 = pairs.iter().map(|(_, apart)| apart * apart).sum();
    let share = pairs.iter().map(|(own, apart)| own * apart).sum::<f64>() / squares;
    let left = |(own, apart): &(f64, f64)| {
        let weight = 1.0 / n + apart * apart / squares;
        (apart * (own - share * apart) / (1.0 - weight).max(f64::EPSILON)).powi(2)
    };
    let error = pairs.iter().map(left).sum::<f64>().sqrt() / squares;
    if !(error < 0.5 && share.is_finite()) {
        return None;
    }
    let half = t_two_sided(confidence, n - 2.0) * error;
    let has_limits = share - half > 0.0 && share + half < 1.0;
    let share = share.clamp(error, 1.0 - error);
    let variance = if has_limits { (error / (share * (1.0 - share))).powi(2) } else { f64::INFINITY };
    let ln = (share / (1.0 - share)).ln();
    ln.is_finite().then_some((ln, variance, n - 2.0))
}

/// Brown & Forsythe's test of these distances from the medians, block by block: the distances of a block share its
/// effect.
pub(super) fn differ([high, low]: [Vec<f64>; 2]) -> Option<SpreadTest> {
    let apart: Vec<f64> = high.iter().zip(&low).map(|(high, low)| high - low).collect();
    let n = apart.len() as f64;
    let error = std_dev(&apart)? / n.sqrt();
    let t = mean(&apart)? / error;
    let p_value = || (2.0 * t_upper_tail(t.abs(), n - 1.0)).min(1.0);
    (apart.len() >= FEWEST && error > 0.0).then(|| SpreadTest { p_value: p_value(), up: t > 0.0 })
}
