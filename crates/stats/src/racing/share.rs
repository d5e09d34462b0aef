//! The share of a race's error that one limit of one look has.

/// Numbers of blocks after which there is a look.
pub const LOOKS: [usize; 18] = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 18, 21, 25, 30, 35, 41];
/// From this many blocks on a look has the full share. Earlier looks have a share in proportion to their blocks,
/// because only large differences are decided there.
const FULL: usize = 5;
/// The error for which [`TESTS`] was computed.
const ALPHA: f64 = 0.05;
/// Numbers of candidates, and the effective number of independent limits for each. With the error divided by that
/// number, the best of that many equal candidates is dropped at any look in 5% of races (`benches/find shares`, 12,000
/// races each; 4% are added for the simulation error).
const TESTS: [(usize, f64); 13] = [
    (2, 6.8),
    (3, 12.5),
    (4, 18.2),
    (6, 30.7),
    (8, 45.8),
    (12, 63.2),
    (16, 87.7),
    (24, 119.0),
    (32, 158.0),
    (48, 221.0),
    (64, 299.0),
    (96, 458.0),
    (128, 563.0),
];

/// The looks of a race, by their numbers of blocks. `early` are looks that took place although none was due, because
/// the time was over: each takes the place of the next one, so that their number, and with it the error, stays the
/// same.
pub(super) fn looks(early: &[usize]) -> [usize; LOOKS.len()] {
    let mut looks = LOOKS;
    for blocks in early.iter().filter(|blocks| **blocks >= LOOKS[0]) {
        if let Some(next) = looks.iter_mut().find(|look| **look >= *blocks) {
            *next = *blocks;
        }
    }
    looks
}

/// The fraction of the full share that the look after this many blocks has.
pub fn weight(blocks: usize) -> f64 {
    blocks.min(FULL) as f64 / FULL as f64
}

/// The error that one limit of the look after this many blocks may have.
pub(super) fn share(candidates: usize, blocks: usize, alpha: f64) -> f64 {
    alpha / tests(candidates, alpha) * weight(blocks)
}

/// The effective number for the next larger number of candidates in the table. For errors below 5%, and for more
/// candidates than were simulated, the Bonferroni bound; for errors above 5% the value at 5% is conservative.
fn tests(candidates: usize, alpha: f64) -> f64 {
    let simulated = TESTS.iter().find(|(known, _)| *known >= candidates).filter(|_| alpha >= ALPHA);
    let all: f64 = LOOKS.iter().map(|blocks| weight(*blocks)).sum();
    simulated.map_or(all * candidates.saturating_sub(1).max(1) as f64, |(_, tests)| *tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_that_is_early_takes_the_place_of_the_next_one() {
        assert_eq!([&[][..], &[1], &[2], &[11, 13, 41], &[42]].map(looks), [LOOKS; 5]);
        let expected = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 18, 21, 25, 30, 35, 36];
        assert_eq!([&[12, 14, 36][..], &[12, 12, 14, 36, 40]].map(looks), [expected; 2]);
    }

    #[test]
    fn shares_are_of_the_next_number_of_candidates_and_else_bonferronis() {
        let is = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-12, "{found} {expected}");
        for (candidates, tests) in [(2, 6.8), (7, 45.8), (8, 45.8), (9, 63.2), (128, 563.0)] {
            is(share(candidates, 5, 0.05), 0.05 / tests);
        }
        is(share(8, 2, 0.05), 0.4 * 0.05 / 45.8);
        // Weights of 0.4, 0.6 and 0.8, then 15 looks of 1, for each of the other candidates.
        is(share(8, 41, 0.04), 0.04 / (16.8 * 7.0));
        is(share(129, 41, 0.05), 0.05 / (16.8 * 128.0));
    }
}
