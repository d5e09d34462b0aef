//! Replaces single runs far from their neighbourhood by its median: a Hampel filter whose scale is not affected by
//! steps.

use crate::descriptive::{median, quantile};

/// Runs in a neighbourhood, with the run itself in the middle or, near an end, off-centre. Three runs of one segment
/// determine the median, so a segment of `SHORTEST` runs is never replaced as a whole.
const NEIGHBOURHOOD: usize = 5;
/// A run is an outlier from this many standard deviations from the median on.
const FAR: f64 = 4.0;
/// Standard deviation of normal values divided by the median absolute difference of two: 1 / (0.6745 sqrt 2).
const OF_DIFFERENCES: f64 = 1.048;
/// Standard deviation of normal values divided by their interquartile range: 1 / 1.349.
const OF_QUARTILES: f64 = 0.7413;

/// Maximum distance of a run from the median of its neighbourhood. The scale is that of differences between neighbours,
/// of which steps and drift affect few.
pub(super) fn reach(values: &[f64]) -> f64 {
    let differences: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    FAR * OF_DIFFERENCES * median(&differences).unwrap_or(0.0)
}

/// The same from the spread of all values, which steps do increase. For normal values without a step both are equal.
pub(super) fn reach_in_any_order(values: &[f64]) -> f64 {
    let quartile = |p: f64| quantile(values, p).unwrap_or(0.0);
    FAR * OF_QUARTILES * (quartile(0.75) - quartile(0.25))
}

/// The values with outliers replaced by the median of their neighbourhood, and the indexes of the outliers.
pub(super) fn held(values: &[f64], reach: f64) -> (Vec<f64>, Vec<usize>) {
    if values.len() < NEIGHBOURHOOD || reach <= 0.0 {
        return (values.to_vec(), Vec::new());
    }
    let mut moved = Vec::new();
    let held = values.iter().enumerate().map(|(place, value)| {
        let from = place.saturating_sub(NEIGHBOURHOOD / 2).min(values.len() - NEIGHBOURHOOD);
        let mut around = [0.0; NEIGHBOURHOOD];
        around.copy_from_slice(&values[from..from + NEIGHBOURHOOD]);
        around.sort_by(f64::total_cmp);
        let centre = around[NEIGHBOURHOOD / 2];
        if (value - centre).abs() <= reach {
            return *value;
        }
        moved.push(place);
        centre
    });
    (held.collect(), moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_is_moved_and_a_short_segment_stays() {
        let noise = [0.0, 0.3, -0.2, 0.1, -0.3, 0.2, -0.1, 0.25, -0.15, 0.05];
        let mut values = noise.to_vec();
        values[4] = 9.0;
        let (found, moved) = held(&values, reach(&values));
        assert_eq!(moved, [4]);
        assert!(found[4] < 3.0 && found[3] == values[3], "{found:?}");
        for at in [0, 4, 7] {
            let mut values = noise.to_vec();
            values[at..at + 3].iter_mut().for_each(|value| *value += 9.0);
            assert_eq!(held(&values, reach(&values)), (values.clone(), vec![]), "{at}");
        }
    }
}
