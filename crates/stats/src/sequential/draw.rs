//! The order within pairs: how it is drawn, and its randomisation test, which holds for trials of any distribution,
//! unlike a t test of few pairs.

use super::fit::Pair;
use super::rule::LOOKS;
use crate::order::randomized_blocks;

/// Maximum number of pairs: all draws are enumerated, at most 2^17.
const MOST: usize = 18;
/// Significance level of the test: one in 32, which takes at least six pairs.
pub(super) const LIMIT: f64 = 1.0 / 32.0;

/// Pairs of which each side is first at least once: those before the first look, which could otherwise not separate
/// the sides from their places.
const BOTH_FIRST: usize = LOOKS[0];

/// Whether B runs first in each pair: at random. Of the first four pairs, a draw with the same side first in all of
/// them is drawn again as a whole, so all other draws stay equally likely. To exchange only the last pair would make
/// two of them twice as likely.
///
/// With the same seed, more pairs begin with the fewer ones.
pub fn orders(pairs: usize, seed: u64) -> Vec<bool> {
    let mut redrawn = 0;
    loop {
        let drawn = randomized_blocks(2, redrawn + pairs.max(BOTH_FIRST), seed);
        let mut orders = drawn.into_iter().skip(redrawn).map(|order| order[0] == 1).collect::<Vec<bool>>();
        if orders[..BOTH_FIRST].windows(2).any(|two| two[0] != two[1]) {
            orders.truncate(pairs);
            return orders;
        }
        redrawn += BOTH_FIRST;
    }
}

/// The share of all draws of the order in which the sides are at least as far apart as in the actual one; `None`
/// without pairs, or with more than 18.
///
/// If B is the same as A, second / first of a pair does not depend on which of them the draw calls B (Fisher's
/// randomisation test). The distance of the sides is |sum of s (g - mean g)|, with g = ln(second / first), and s = 1
/// where B ran second and else -1. The mean removes the order effect, and is the same in all draws.
///
/// Draws that [`orders`] rejects are counted too: a share of 1 in 32 is then at most one of 1 in 28 of those that can
/// be drawn.
pub(super) fn share(pairs: &[Pair]) -> Option<f64> {
    if pairs.is_empty() || pairs.len() > MOST {
        return None;
    }
    let sign = |pair: &Pair| if pair.b_first { -1.0 } else { 1.0 };
    let by_place: Vec<f64> = pairs.iter().map(|pair| sign(pair) * pair.log_ratio).collect();
    let mean = by_place.iter().sum::<f64>() / by_place.len() as f64;
    let mut sides: Vec<f64> = pairs.iter().zip(&by_place).map(|(pair, g)| sign(pair) * (g - mean)).collect();
    let mut apart: f64 = sides.iter().sum();
    // Values that differ by rounding are equal.
    let made = apart.abs() - 1e-9 * sides.iter().map(|side| side.abs()).sum::<f64>();
    // The other half of the draws are these with the sides exchanged, whose distances are the same.
    let draws = 1_u32 << (pairs.len() - 1);
    let mut as_far = u32::from(apart.abs() >= made);
    for draw in 1..draws {
        // In Gray code order, each draw exchanges one pair of the draw before.
        let exchanged = &mut sides[draw.trailing_zeros() as usize];
        apart -= 2.0 * *exchanged;
        *exchanged = -*exchanged;
        as_far += u32::from(apart.abs() >= made);
    }
    Some(f64::from(as_far) / f64::from(draws))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn each_side_is_first_before_the_first_look_and_all_such_draws_are_equally_likely() {
        let mut seen = BTreeMap::new();
        for seed in 0..14_000 {
            let orders = orders(5, seed);
            assert_eq!(super::orders(2, seed), orders[..2]);
            *seen.entry(orders).or_insert(0) += 1;
        }
        assert!(seen.keys().all(|orders| orders[..4].contains(&true) && orders[..4].contains(&false)), "{seen:?}");
        // 500 expected each, standard deviation 22.
        assert!(seen.len() == 28 && seen.values().all(|times| (400..600).contains(times)), "{seen:?}");
    }

    fn pairs(values: &[(f64, bool)]) -> Vec<Pair> {
        values.iter().map(|(log_ratio, b_first)| Pair { log_ratio: *log_ratio, b_first: *b_first }).collect()
    }

    #[test]
    fn sides_apart_in_every_pair_are_one_draw_of_all_whatever_the_place_does() {
        let order = [false, true, true, false, true, false];
        for place in [0.0, 5.0] {
            let apart = order.map(|b_first| (0.1 + if b_first { -place } else { place }, b_first));
            assert_eq!(share(&pairs(&apart)), Some(1.0 / 32.0));
            assert_eq!(share(&pairs(&apart[..4])), Some(1.0 / 8.0));
        }
    }

    /// By hand: g = 3, -1, -1, -1 minus its mean of 0 with s = 1, -1, 1, 1 gives a distance of 3 + 1 - 1 - 1 = 2. Of
    /// the eight draws up to an exchange of the sides (+++: 0, one of the last three exchanged: 2, two: 4, all: 6)
    /// seven are at least as far.
    #[test]
    fn draws_are_those_counted_by_hand() {
        let found = pairs(&[(3.0, false), (1.0, true), (-1.0, false), (-1.0, false)]);
        assert_eq!(share(&found), Some(7.0 / 8.0));
        assert_eq!(share(&pairs(&[(0.0, false); 3])), Some(1.0), "nothing differs");
        assert_eq!((share(&[]), share(&pairs(&[(0.1, true); 19]))), (None, None));
    }
}
