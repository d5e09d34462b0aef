//! Where a step may be, and a straight line through the runs with or without steps.

use super::series::{self, SHORTEST, Split, places, segments};
use crate::descriptive::mean;
use crate::interval::{Estimate, Interval};
use crate::line::{dot, gram, independent_columns, inverse_spd, moment};
use crate::quantiles::{t_two_sided, t_upper_tail};
use std::ops::{Range, RangeInclusive};

/// Probability with which the places of a step are to contain the true one.
const WANTED: f64 = 0.95;
/// Lower limit of a sum of squares: the logarithm of 0 is no weight, and no BIC.
const NOTHING: f64 = 1e-24;

/// For each split the range of places, as indexes of the first run after it, that is needed for [`WANTED`]; the place
/// of the split is always in it. Runs that are `left_out` have no weight, so a step next to one has both places.
///
/// The probability of a place k is the posterior one under a uniform prior of the place, with both means and the
/// variance integrated out: RSS(k)^(-(n - 2) / 2) / sqrt(n_1 n_2) for normal runs (Smith, "A Bayesian approach to
/// inference about a change-point in a sequence of random variables", Biometrika 62, 1975). The increase of RSS over
/// its minimum is divided by the effect of autocorrelation on the variance of a mean.
pub(super) fn ranges(values: &[f64], left_out: &[usize], splits: &[Split]) -> Vec<RangeInclusive<usize>> {
    let all = segments(&places(splits), values.len());
    let around = all.windows(2).zip(splits);
    around.map(|(two, split)| range(values, left_out, two[0].start..two[1].end, split.place)).collect()
}

fn range(values: &[f64], left_out: &[usize], runs: Range<usize>, found: usize) -> RangeInclusive<usize> {
    let kept: Vec<(usize, f64)> =
        runs.clone().filter(|run| !left_out.contains(run)).map(|run| (run, values[run])).collect();
    let centre = mean(&kept.iter().map(|(_, value)| *value).collect::<Vec<_>>()).unwrap_or(0.0);
    let kept: Vec<(usize, f64)> = kept.into_iter().map(|(run, value)| (run, value - centre)).collect();
    let (mut before, mut after, mut next) = (Side::default(), Side::default(), 0);
    kept.iter().for_each(|(_, value)| after.change(1.0, *value));
    let mut sides = Vec::new();
    for place in runs.start + SHORTEST..=runs.end - SHORTEST {
        while let Some((_, value)) = kept.get(next).filter(|(run, _)| *run < place) {
            before.change(1.0, *value);
            after.change(-1.0, *value);
            next += 1;
        }
        sides.push((place, before.squares() + after.squares(), before.runs * after.runs));
    }
    let least = sides.iter().map(|(_, squares, _)| *squares).fold(f64::INFINITY, f64::min).max(NOTHING);
    let (freedom, cost) = (kept.len() as f64 - 2.0, autocorrelation(&kept, found));
    let weight = |(place, squares, product): (usize, f64, f64)| {
        let more = (squares - least).max(0.0) / least / cost;
        (place, (-freedom / 2.0 * more.ln_1p()).exp() / product.max(1.0).sqrt())
    };
    smallest(sides.into_iter().map(weight).collect(), found)
}

/// The range of the likeliest places that together have [`WANTED`], with the one that was found.
fn smallest(mut weights: Vec<(usize, f64)>, found: usize) -> RangeInclusive<usize> {
    weights.sort_by(|a, b| b.1.total_cmp(&a.1));
    let wanted = WANTED * weights.iter().map(|(_, weight)| weight).sum::<f64>();
    let (mut earliest, mut latest, mut reached) = (found, found, 0.0);
    for (place, weight) in weights {
        if reached >= wanted {
            break;
        }
        reached += weight;
        (earliest, latest) = (earliest.min(place), latest.max(place));
    }
    earliest..=latest
}

/// The runs on one side of a place, centred by the mean of both sides.
#[derive(Default)]
struct Side {
    runs: f64,
    sum: f64,
    of_squares: f64,
}

impl Side {
    /// Adds a run with the sign 1, and removes one with -1.
    fn change(&mut self, sign: f64, value: f64) {
        self.runs += sign;
        self.sum += sign * value;
        self.of_squares += sign * value * value;
    }

    /// The sum of squared distances from the mean.
    fn squares(&self) -> f64 {
        (self.of_squares - self.sum * self.sum / self.runs.max(1.0)).max(0.0)
    }
}

/// The effect of autocorrelation on the variance of a mean over the shorter side.
fn autocorrelation(kept: &[(usize, f64)], found: usize) -> f64 {
    let (before, after): (Vec<_>, Vec<_>) = kept.iter().partition(|(run, _)| *run < found);
    let centred = [&before, &after].into_iter().flat_map(|side: &Vec<(usize, f64)>| {
        let centre = side.iter().map(|(_, value)| value).sum::<f64>() / side.len().max(1) as f64;
        side.iter().map(move |(_, value)| value - centre)
    });
    series::resemblance_of_residuals(&centred.collect::<Vec<_>>(), 2, before.len().min(after.len()))
}

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
        let error = slope.error * series::resemblance_of_residuals(&slope.residuals, means, self.runs).sqrt();
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

    fn of(values: &[f64], left_out: &[usize], place: usize) -> RangeInclusive<usize> {
        ranges(values, left_out, &[Split { place, p_value: 0.0 }]).remove(0)
    }

    #[test]
    fn the_places_are_one_for_a_large_step_and_several_for_a_small_one() {
        let noise = [0.3, -0.8, 0.1, 0.9, -0.5, 0.7, -0.2, -0.9, 0.4, 0.2, -0.6, 0.8, -0.1, 0.5];
        let stepped = |size: f64| -> Vec<f64> {
            noise.iter().enumerate().map(|(run, noise)| noise + if run < 7 { 0.0 } else { size }).collect()
        };
        assert_eq!(of(&stepped(20.0), &[], 7), 7..=7);
        let small = of(&stepped(1.0), &[], 7);
        assert!(*small.start() < 6 && *small.end() > 8, "{small:?}");
        let exact: Vec<f64> = (0..8).map(|run| if run < 4 { 1.0 } else { 2.0 }).collect();
        assert_eq!(of(&exact, &[], 4), 4..=4);
        // Its own value does not say on which side the left-out run is.
        assert_eq!(of(&stepped(20.0), &[6], 7), 6..=7);
    }

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
