//! Tests whether disturbed trials may be the cause of a difference between two sides.

use crate::counts::Count;

/// Significance level at which the slower side counts as disturbed more often: three pairs against none, five against
/// one, seven against two. At half this level two steady disturbances in five lead to a false change in 7%; at twice
/// this level no more are found.
const LIMIT: f64 = 1.0 / 8.0;

/// Whether a side was disturbed significantly more often than the other: the one-sided sign test of the pairs in which
/// it alone was disturbed and of those in which the other alone was. A disturbance that does not depend on the side
/// affects both equally often, because the order is random.
pub fn is_one_sided(own: usize, other: usize) -> bool {
    // Values that differ by rounding are equal.
    Count { hits: own, of: own + other }.by_coin() <= LIMIT + 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sided_disturbance_is_a_sign_test_at_one_in_eight() {
        let fewest = |other: usize| (0..100).find(|own| is_one_sided(*own, other));
        // By the binomial: 1/8, 7/64, 46/512 (6 against 2: 37/256), 176/2048 (8 against 3: 232/2048).
        assert_eq!([0, 1, 2, 3].map(fewest), [Some(3), Some(5), Some(7), Some(8)]);
        assert!(!is_one_sided(0, 0) && !is_one_sided(0, 9));
    }
}
