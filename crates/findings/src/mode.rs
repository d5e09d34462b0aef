//! Modes of the trials of one condition with their cause, and conditions without modes whose mean describes no trial.

use super::confidence::CONFIDENCE;
use super::places::{Category, Property, Shared};
use serde::Serialize;
use tare_stats::trials::mean_interval;
use tare_stats::{Interval, descriptive};

/// The value that represents the trials of a condition where a single figure is needed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Middle<'m> {
    /// Their mean, with its interval over trials.
    Mean(f64, Option<Interval>),
    /// Each mode: the mean describes no trial.
    Modes(&'m [Mode]),
    /// From the minimum to the maximum: the mean describes no trial, and no modes are shown.
    Range(f64, f64),
}

/// The test for modes of a metric, with its power: "no modes" is only worth as much as the power of the test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModesTested {
    pub metric: String,
    /// Conditions with enough trials for their own test.
    pub conditions: usize,
    /// How many of these conditions have modes.
    pub seen_in: usize,
    /// Modes of the trials of all conditions together, each trial divided by its condition's mean, in ascending
    /// order; empty if none are shown. Conditions with modes of their own are left out.
    pub together: Vec<Mode>,
    /// Distance of the two modes for which the power below is given, in standard deviations of a mode.
    pub apart_sd: f64,
    /// Power to detect two such modes in a single condition; null if no condition has enough trials.
    pub power_in_one: Option<f64>,
    /// Power to detect modes that all conditions share; null with one condition, or too few trials.
    pub power_together: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mode {
    pub mean: f64,
    pub weight: f64,
}

/// A recorded covariate that explains which trial belongs to which mode.
#[derive(Debug, Clone, PartialEq)]
pub struct ModeCause {
    pub covariate: Property,
    pub sides: Vec<ModeSide>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ModeSide {
    pub in_common: InCommon,
    pub mean: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub enum InCommon {
    Number(f64),
    /// The mean share of pairs with this relation or a nearer one.
    Pairs {
        relation: Shared,
        share: f64,
    },
    /// The category that most of the trials have.
    Category {
        category: Category,
        trials: usize,
        of: usize,
    },
    /// Not recorded for any of the trials.
    Unknown,
}

/// Trials lie far apart if the maximum is at least this multiple of the minimum, as 37 and 24 are.
const FAR_APART: f64 = 1.5;
/// The mean lies between two groups if the lowest trial above it is at least this multiple of the highest below it, and
/// each side has a third of the trials: of fewer one says that they lie far out. With 1.3 a tenth of conditions with a
/// CoV of 20% would lose their mean; with 1.4 a quarter of those with trials about 24 and 37 would keep it.
const STEP: f64 = 1.35;
/// If half of the interval of a mean exceeds this share of the mean, the range of the trials says more: 62 ± 61 for
/// trials from 16 to 130.
const UNKNOWN: f64 = 0.5;

/// The minimum and maximum of trials that lie far apart, if their mean lies between two groups of them or is hardly
/// known. If chance selects one of two values, a few trials show no modes, but their mean describes none of them.
///
/// Simulated with 4 to 10 trials of one mode: with a CoV of up to 10%, at most 0.3% lose their mean by this rule (t3
/// and lognormal: 0.8%), with 15% 2 to 4%, with 20% 12% of those with 4 trials and 1% of those with 8. Where trials are
/// 42 to 47 and 74 to 87, all do; where they have a CoV of 7% about the middles of these, 96 to 99%. The rows "mean
/// lost" and "no mean" of `benches/truth` are these rates, including modes.
pub(super) fn far_apart_range(means: &[f64]) -> Option<(f64, f64)> {
    let (least, most) = descriptive::min_max(means)?;
    let mean = descriptive::mean(means)?;
    let far = least > 0.0 && most >= FAR_APART * least;
    let known = mean_interval(means, CONFIDENCE)?.width() / 2.0 <= UNKNOWN * mean;
    (far && (!known || are_two_groups(means, mean))).then_some((least, most))
}

fn are_two_groups(means: &[f64], mean: f64) -> bool {
    let (below, above): (Vec<f64>, Vec<f64>) = means.iter().partition(|v| **v < mean);
    let (Some((_, below_most)), Some((above_least, _))) = (descriptive::min_max(&below), descriptive::min_max(&above))
    else {
        return false;
    };
    3 * below.len().min(above.len()) >= means.len() && above_least >= STEP * below_most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_far_apart_are_a_range_where_their_mean_lies_between_two_groups_or_is_hardly_known() {
        let luck = [68.1, 305.0, 304.2, 67.3, 66.9, 303.8];
        assert_eq!(far_apart_range(&luck), Some((66.9, 305.0)));
        assert_eq!(far_apart_range(&[24.0, 37.0]), Some((24.0, 37.0)));
        // 63.6 ± 23.0, with a trial at 74 within half a standard deviation.
        assert_eq!(far_apart_range(&[42.3, 74.2, 46.8, 86.9, 45.0, 86.4]), Some((42.3, 86.9)));
        assert_eq!(far_apart_range(&[16.0, 40.0, 52.0, 70.0, 130.0]), Some((16.0, 130.0)), "62 ± 53");
        assert_eq!(far_apart_range(&[80.0, 100.0, 125.0, 90.0, 110.0]), None, "the groups touch");
        assert_eq!(far_apart_range(&[100.0, 100.1, 103.0, 103.1]), None, "they are not far apart");
        let far_out = [vec![10.0; 19], vec![40.0]].concat();
        assert_eq!(far_apart_range(&far_out), None, "one lies far out");
        assert_eq!((far_apart_range(&[5.0]), far_apart_range(&[0.0, 9.0])), (None, None));
    }
}
