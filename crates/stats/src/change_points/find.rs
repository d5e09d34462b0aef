//! Finds steps, drift and outliers in one series.

use super::divisive;
use super::place::{self, Drift, Model};
use super::series::{self, FEWEST, Split, places, segments};
use crate::descriptive::mean;
use crate::error::{Error, all_positive};
use crate::interval::Estimate;
use crate::ratio::{Arms, Better, Design};

/// Share of the error rate that is spent on drift; steps have the rest.
const OF_DRIFT: f64 = 0.2;

/// Parameters of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Probability in (0, 1) of a false report in a series without change (type I error): 4/5 of it for steps, the rest
    /// for drift.
    pub error_rate: f64,
    /// Smallest change of interest as a fraction. A step, or a drift from the first run to the last, that is estimated
    /// to be smaller is not reported.
    pub minimum_effect: f64,
    /// Confidence level of the intervals, in (0, 1).
    pub confidence: f64,
    /// Seed of the permutations.
    pub seed: u64,
}

/// A step between two adjacent segments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// Index of the first run after it, from 0.
    pub first_after: usize,
    /// The first and the last index that may be the true `first_after`: the range contains it in at least 95% of the
    /// steps that are found, if neighbouring runs are correlated by 0.4 at most.
    pub earliest: usize,
    /// The end of this range, included.
    pub latest: usize,
    /// Mean of the segment after it divided by that of the segment before it, without outliers ([`of_segments`]). The
    /// interval does not account for the position having been chosen from the data.
    pub ratio: Estimate,
    /// The larger of two p-values: that of the permutation test, (1 + k) / (1 + P), and that of a t test that allows
    /// for autocorrelation between neighbouring runs.
    pub p_value: f64,
}

/// The changes found in a series of runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// The steps, in order of time.
    pub changes: Vec<ChangePoint>,
    /// A trend that the steps do not explain.
    pub drift: Option<Drift>,
    /// Indexes of single runs far from their neighbourhood. They are not change points, and are left out of all ratios.
    pub outliers: Vec<usize>,
}

impl Found {
    /// The segments as half-open ranges of indexes, in order of time.
    pub fn segments(&self, runs: usize) -> Vec<std::ops::Range<usize>> {
        segments(&self.changes.iter().map(|change| change.first_after).collect::<Vec<_>>(), runs)
    }

    /// The values of a segment without its outliers, or all if every one is far from the runs around it.
    pub fn kept(&self, values: &[f64], segment: std::ops::Range<usize>) -> Vec<f64> {
        without(&self.outliers, values, segment)
    }
}

fn without(outliers: &[usize], values: &[f64], segment: std::ops::Range<usize>) -> Vec<f64> {
    let kept: Vec<f64> = segment.clone().filter(|place| !outliers.contains(place)).map(|place| values[place]).collect();
    if kept.is_empty() { values[segment].to_vec() } else { kept }
}

/// Looks for steps and for drift in `values`, one per run, in order of time. With fewer than [`FEWEST`] runs the result
/// is empty, which does not mean that nothing changed.
///
/// # Errors
/// [`Error::NotPositive`] for a value that is not positive, [`Error::OutOfRange`] for the error rate, the minimum
/// effect or the confidence.
pub fn find(values: &[f64], options: &Options) -> Result<Found, Error> {
    all_positive("values of the runs", values)?;
    valid(options)?;
    if values.len() < FEWEST {
        return Ok(Found::default());
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let (held, outliers) = series::held(&logs, series::reach(&logs));
    let smallest = options.minimum_effect.ln_1p();
    let rate = (1.0 - OF_DRIFT) * options.error_rate;
    let steps = divisive::splits(&logs, rate, options.seed);
    // The same search after subtracting a straight line, which is the form of a drift.
    let straight = place::slope_alone(&held);
    let level: Vec<f64> = logs.iter().enumerate().map(|(place, log)| log - straight * place as f64).collect();
    let on_slope = divisive::splits(&level, rate, options.seed);
    let alone = Model::of(&held, &places(&steps), false);
    let sloped = Model::of(&held, &places(&on_slope), true);
    let drift = sloped.drift(options.confidence);
    let drift = drift.filter(|found| found.p_value <= OF_DRIFT * options.error_rate);
    let drift = drift.filter(|found| found.ratio.value.ln().abs() >= smallest && sloped.bic < alone.bic);
    let (mut splits, detrended) = if drift.is_some() { (on_slope, level) } else { (steps, logs) };
    drop_small(&mut splits, &detrended, &outliers, smallest);
    let mut found = Found { changes: Vec::new(), drift, outliers };
    found.changes = changes(values, &detrended, &splits, &found, options.confidence)?;
    Ok(found)
}

fn valid(options: &Options) -> Result<(), Error> {
    crate::error::valid_confidence(options.confidence)?;
    let out =
        |what: &str, expected: &str, got: f64| Error::OutOfRange { what: what.into(), expected: expected.into(), got };
    if !(options.error_rate > 0.0 && options.error_rate < 1.0) {
        return Err(out("error rate", "a fraction in (0, 1)", options.error_rate));
    }
    if !(options.minimum_effect >= 0.0 && options.minimum_effect.is_finite()) {
        return Err(out("minimum effect", "a fraction of 0 or more", options.minimum_effect));
    }
    Ok(())
}

/// Removes the smallest step as long as it is below the smallest effect of interest, which merges the segments around
/// it.
fn drop_small(splits: &mut Vec<Split>, logs: &[f64], outliers: &[usize], smallest: f64) {
    loop {
        let means: Vec<f64> = segments(&places(splits), logs.len())
            .into_iter()
            .map(|segment| mean(&without(outliers, logs, segment)).unwrap_or(0.0))
            .collect();
        let sizes = means.windows(2).map(|pair| (pair[1] - pair[0]).abs());
        match sizes.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((place, size)) if size < smallest => splits.remove(place),
            _ => return,
        };
    }
}

/// Each step with its ratio, whose interval is widened for autocorrelation, and its range of places on the `level`,
/// the logarithms without a drift.
fn changes(
    values: &[f64],
    level: &[f64],
    splits: &[Split],
    found: &Found,
    confidence: f64,
) -> Result<Vec<ChangePoint>, Error> {
    let segments = segments(&places(splits), values.len());
    let kept: Vec<Vec<f64>> = segments.into_iter().map(|segment| found.kept(values, segment)).collect();
    let ranges = place::ranges(level, &found.outliers, splits);
    let pairs = kept.windows(2).zip(splits.iter().zip(ranges));
    pairs
        .map(|(pair, (split, range))| {
            let ratio = of_segments(&pair[0], &pair[1], confidence)?;
            let (earliest, latest) = range.into_inner();
            Ok(ChangePoint { first_after: split.place, earliest, latest, ratio, p_value: split.p_value })
        })
        .collect()
}

/// Mean of one segment divided by that of an earlier one, with Fieller's interval, in which autocorrelation increases
/// the variance of both means by as much as in the test of the step.
///
/// # Errors
/// As [`crate::ratio::fieller`].
pub fn of_segments(before: &[f64], after: &[f64], confidence: f64) -> Result<Estimate, Error> {
    let relative = |segment: &[f64]| {
        let centre = mean(segment).unwrap_or(0.0);
        segment.iter().map(|value| value / centre - 1.0).collect::<Vec<f64>>()
    };
    let residuals = [relative(before), relative(after)].concat();
    let design = Design::Apart([before, after].map(|runs| series::resemblance_of_residuals(&residuals, 2, runs.len())));
    Arms { a: before, b: after, better: Better::Lower, design, rounding: None }.ratio(confidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: Options = Options { error_rate: 0.05, minimum_effect: 0.01, confidence: 0.95, seed: 7 };

    /// Runs around `level`, with fixed noise of about 1%.
    fn noisy(n: usize, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let noise = |i: usize| ((i * 7919 + 13) % 101) as f64 / 50.0 - 1.0;
        (0..n).map(|i| level(i) * (1.0 + 0.01 * noise(i))).collect()
    }

    #[test]
    fn a_step_is_found_where_it_is_and_again_the_same() {
        let values = noisy(40, |i| if i < 25 { 100.0 } else { 96.0 });
        let found = find(&values, &OPTIONS).unwrap();
        assert_eq!(places_of(&found), [25], "{found:?}");
        let ratio = found.changes[0].ratio;
        assert!((ratio.value - 0.96).abs() < 0.006 && ratio.ci.unwrap().contains(0.96), "{found:?}");
        assert_eq!((found.drift, find(&values, &OPTIONS).unwrap()), (None, found.clone()));
        assert_eq!(found.segments(40), [0..25, 25..40]);
        let large = Options { minimum_effect: 0.1, ..OPTIONS };
        assert!(find(&values, &large).unwrap().changes.is_empty());
    }

    /// With a step far beyond the noise, permuted values must not count as outliers of each other.
    #[test]
    fn the_largest_step_is_the_surest() {
        for to in [94.0, 60.0, 10.0] {
            let found = find(&noisy(16, |i| if i < 9 { 100.0 } else { to }), &OPTIONS).unwrap();
            assert_eq!((places_of(&found), found.drift), (vec![9], None), "{to}: {found:?}");
            assert!(found.changes[0].p_value < 0.005, "{found:?}");
        }
    }

    fn places_of(found: &Found) -> Vec<usize> {
        found.changes.iter().map(|change| change.first_after).collect()
    }

    #[test]
    fn two_outlying_runs_are_named_and_no_change() {
        let mut values = noisy(30, |_| 100.0);
        values[12] = 60.0;
        values[29] = 140.0;
        let found = find(&values, &OPTIONS).unwrap();
        assert_eq!((places_of(&found), found.outliers.clone()), (vec![], vec![12, 29]), "{found:?}");
    }

    /// Three runs of which each is far from the median of its own neighbourhood.
    #[test]
    fn a_segment_of_outliers_has_a_mean() {
        let found = Found { outliers: vec![3, 4, 5], ..Found::default() };
        let values = [1.0, 1.1, 0.9, 5.0, 3.0, 7.0];
        assert_eq!(
            (found.kept(&values, 0..3), found.kept(&values, 3..6)),
            (values[..3].to_vec(), values[3..].to_vec())
        );
        assert_eq!(found.kept(&values, 2..6), [0.9]);
    }

    #[test]
    fn a_straight_line_is_a_drift_and_no_staircase() {
        let values = noisy(60, |i| 100.0 - 0.08 * i as f64);
        let found = find(&values, &OPTIONS).unwrap();
        let drift = found.drift.unwrap();
        assert!((drift.ratio.value - 0.953).abs() < 0.008 && drift.ratio.ci.unwrap().contains(0.953), "{found:?}");
        assert!(found.changes.is_empty(), "{found:?}");
    }

    #[test]
    fn unusable_histories_are_refused_and_short_ones_show_nothing() {
        assert_eq!(find(&[1.0, 2.0, 3.0, 9.0, 9.0], &OPTIONS).unwrap(), Found::default());
        assert_eq!(find(&[5.0; 30], &OPTIONS).unwrap(), Found::default());
        assert!(find(&[1.0, 0.0], &OPTIONS).is_err() && find(&[1.0, f64::NAN], &OPTIONS).is_err());
        assert!(find(&[1.0], &Options { error_rate: 0.0, ..OPTIONS }).is_err());
        assert!(find(&[1.0], &Options { minimum_effect: -1.0, ..OPTIONS }).is_err());
    }
}
