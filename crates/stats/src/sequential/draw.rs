//! What the draw of the order alone makes of pairs: exact for trials of any shape, where a t of few pairs is not.

use super::fit::Pair;

/// Pairs whose draws are counted one by one: 2^17 of them at most.
const MOST: usize = 18;
/// The share of draws up to which an order counts as more than a draw: one in 32, which takes six pairs.
pub(super) const LIMIT: f64 = 1.0 / 32.0;

/// The share of all draws of the order that set the sides at least as far apart as the one that was made; none for
/// more than 18 pairs, or for none.
///
/// Where B is A, second / first of a pair is what it is, whichever of them a fair draw calls B (Fisher's randomisation
/// test). The sides are apart by |sum of s (g - mean g)|, g = ln(second / first), s = 1 where B ran second and else -1:
/// the mean takes the effect of the place out, and is the same in all draws.
pub(super) fn share(pairs: &[Pair]) -> Option<f64> {
    if pairs.is_empty() || pairs.len() > MOST {
        return None;
    }
    let sign = |pair: &Pair| if pair.b_first { -1.0 } else { 1.0 };
    let by_place: Vec<f64> = pairs.iter().map(|pair| sign(pair) * pair.log_ratio).collect();
    let mean = by_place.iter().sum::<f64>() / by_place.len() as f64;
    let mut sides: Vec<f64> = pairs.iter().zip(&by_place).map(|(pair, g)| sign(pair) * (g - mean)).collect();
    let mut apart: f64 = sides.iter().sum();
    // What differs by rounding is equal.
    let made = apart.abs() - 1e-9 * sides.iter().map(|side| side.abs()).sum::<f64>();
    // The other half of the draws are these with the sides exchanged, which are as far apart.
    let draws = 1_u32 << (pairs.len() - 1);
    let mut as_far = u32::from(apart.abs() >= made);
    for draw in 1..draws {
        // In the order of the Gray code a draw exchanges one pair of the draw before.
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

    /// By hand: g = 3, -1, -1, -1 less its mean of 0 with s = 1, -1, 1, 1 is 3 + 1 - 1 - 1 = 2 apart. Of the eight
    /// draws up to an exchange of the sides (+++: 0, one of the last three exchanged: 2, two: 4, all: 6) seven are.
    #[test]
    fn draws_are_those_counted_by_hand() {
        let found = pairs(&[(3.0, false), (1.0, true), (-1.0, false), (-1.0, false)]);
        assert_eq!(share(&found), Some(7.0 / 8.0));
        assert_eq!(share(&pairs(&[(0.0, false); 3])), Some(1.0), "nothing differs");
        assert_eq!((share(&[]), share(&pairs(&[(0.1, true); 19]))), (None, None));
    }
}
