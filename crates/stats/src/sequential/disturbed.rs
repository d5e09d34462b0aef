//! Whether trials that something else disturbed may be what sets two sides apart.

use crate::counts::Count;

/// Chance up to which the slower side counts as disturbed more often than by chance: three pairs against none, five
/// against one, seven against two. Half of it lets two steady disturbances in five claim a change in 7%; double of it
/// finds no more.
const LIMIT: f64 = 1.0 / 8.0;

/// Whether a side is shown to be disturbed more often than the other: the sign test, one-sided, of the pairs in which
/// it alone was disturbed and of those in which the other alone was. What disturbs no matter of the side meets either
/// as often, for the order is drawn.
pub fn is_one_sided(own: usize, other: usize) -> bool {
    // What differs by rounding is equal.
    Count { hits: own, of: own + other }.by_coin() <= LIMIT + 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_sign_test_at_one_in_eight() {
        let fewest = |other: usize| (0..100).find(|own| is_one_sided(*own, other));
        // By the binomial: 1/8, 7/64, 46/512 (6 against 2: 37/256), 176/2048 (8 against 3: 232/2048).
        assert_eq!([0, 1, 2, 3].map(fewest), [Some(3), Some(5), Some(7), Some(8)]);
        assert!(!is_one_sided(0, 0) && !is_one_sided(0, 9));
    }
}
