//! Conditions without modes whose mean nevertheless describes no trial.

use super::confidence::CONFIDENCE;
use tare_stats::descriptive;
use tare_stats::trials::mean_interval;

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
pub(super) fn range(means: &[f64]) -> Option<(f64, f64)> {
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
        assert_eq!(range(&luck), Some((66.9, 305.0)));
        assert_eq!(range(&[24.0, 37.0]), Some((24.0, 37.0)));
        // 63.6 ± 23.0, with a trial at 74 within half a standard deviation.
        assert_eq!(range(&[42.3, 74.2, 46.8, 86.9, 45.0, 86.4]), Some((42.3, 86.9)));
        assert_eq!(range(&[16.0, 40.0, 52.0, 70.0, 130.0]), Some((16.0, 130.0)), "62 ± 53");
        assert_eq!(range(&[80.0, 100.0, 125.0, 90.0, 110.0]), None, "the groups touch");
        assert_eq!(range(&[100.0, 100.1, 103.0, 103.1]), None, "they are not far apart");
        let far_out = [vec![10.0; 19], vec![40.0]].concat();
        assert_eq!(range(&far_out), None, "one lies far out");
        assert_eq!((range(&[5.0]), range(&[0.0, 9.0])), (None, None));
    }
}
