//! What the rounding of a metric hides of the ratio of two sides.

use tare_stats::descriptive::mean;
use tare_stats::ratio::Rounding;

/// Values count as rounded to this digit at most: 1000 and 2000 are hardly rounded to thousands.
const LARGEST_DIGIT: f64 = 1.0;

/// Of the logarithm of each side, from the samples of its trials, which are rounded alike.
pub(crate) fn of_sides(sides: &[Vec<Vec<f64>>]) -> Vec<Rounding> {
    let all: Vec<f64> = sides.iter().flatten().flatten().copied().collect();
    let digit = Rounding::digit(&all).min(LARGEST_DIGIT);
    let relative = |trials: &Vec<Vec<f64>>| {
        let own = Rounding::of(trials.iter().map(Vec::as_slice), digit);
        let centre = mean(&trials.concat()).filter(|centre| *centre > 0.0);
        let of = |centre: f64| Rounding { error: own.error / centre, slack: own.slack / centre };
        centre.map_or_else(Rounding::default, of)
    };
    sides.iter().map(relative).collect()
}

/// Of the logarithm of their ratio.
pub(crate) fn of_ratio(sides: &[Vec<Vec<f64>>; 2]) -> Rounding {
    let sum = |a: Rounding, b: Rounding| Rounding { error: a.error.hypot(b.error), slack: a.slack + b.slack };
    of_sides(sides).into_iter().fold(Rounding::default(), sum)
}
