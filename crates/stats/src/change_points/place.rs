//! Where a step may be: its place was chosen from the data.

use super::resemblance;
use super::split::{SHORTEST, Split, places, segments};
use crate::descriptive::mean;
use std::ops::{Range, RangeInclusive};

/// Probability with which the places of a step are to contain the true one.
const WANTED: f64 = 0.95;
/// Lower limit of a sum of squares: the logarithm of 0 is no weight.
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
    resemblance::of_residuals(&centred.collect::<Vec<_>>(), 2, before.len().min(after.len()))
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
}
