//! The order of trials: randomised complete blocks, which depend on the seed only and not on the version.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The generator for all random numbers of this crate: xoshiro256++ (Blackman & Vigna, prng.di.unimi.it), with the
/// state filled from the seed by SplitMix64 as its authors advise.
pub(crate) fn generator(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// Uniform in 0..n by rejection: draws below 2^64 mod n are rejected, the rest taken mod n. Implemented here because
/// the `rand` crate does not guarantee the same values in every version. `n` must not be 0.
pub(crate) fn below(rng: &mut Xoshiro256PlusPlus, n: usize) -> usize {
    let n = n as u64;
    let skip = n.wrapping_neg() % n;
    loop {
        let draw = rng.next_u64();
        if draw >= skip {
            return (draw % n) as usize;
        }
    }
}

/// Fisher-Yates from the last index down (Knuth, TAOCP 2, algorithm P).
pub(crate) fn shuffle<T>(rng: &mut Xoshiro256PlusPlus, values: &mut [T]) {
    for i in (1..values.len()).rev() {
        values.swap(i, below(rng, i + 1));
    }
}

/// A schedule of `blocks` blocks, each a new random permutation of the conditions 0..`conditions`. With the same seed,
/// a schedule with more blocks begins with the shorter one, so a study can be extended.
///
/// The values are guaranteed (a resumed run must have the order it began with): xoshiro256++ seeded by SplitMix64,
/// index by rejection, Fisher-Yates from the last index down. Tests compare them with pinned values.
pub fn randomized_blocks(conditions: usize, blocks: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut rng = generator(seed);
    (0..blocks)
        .map(|_| {
            let mut block: Vec<usize> = (0..conditions).collect();
            shuffle(&mut rng, &mut block);
            block
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An independent version of xoshiro256++ and SplitMix64, from their published C sources.
    fn reference(seed: u64) -> impl FnMut() -> u64 {
        let mut x = seed;
        let mut split = move || {
            x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = x;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        let mut s = [split(), split(), split(), split()];
        move || {
            let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
            let t = s[1] << 17;
            s[2] ^= s[0];
            s[3] ^= s[1];
            s[1] ^= s[2];
            s[0] ^= s[3];
            s[2] ^= t;
            s[3] = s[3].rotate_left(45);
            result
        }
    }

    #[test]
    fn the_generator_is_the_published_one() {
        for seed in [0, 1, 42, u64::MAX] {
            let mut ours = generator(seed);
            let mut theirs = reference(seed);
            assert!((0..100).all(|_| ours.next_u64() == theirs()));
        }
    }

    #[test]
    fn the_schedule_of_a_seed_never_changes() {
        assert_eq!(randomized_blocks(6, 3, 20_260_301), PINNED);
        assert_eq!(randomized_blocks(6, 1, 20_260_301), PINNED[..1]);
    }

    /// From an independent implementation of the documented procedure.
    const PINNED: [[usize; 6]; 3] = [[2, 5, 3, 4, 0, 1], [5, 0, 2, 1, 4, 3], [1, 5, 4, 0, 3, 2]];

    #[test]
    fn every_block_holds_every_condition_once_and_all_orders_occur() {
        let mut seen = std::collections::HashMap::new();
        for block in randomized_blocks(3, 6000, 7) {
            *seen.entry(block).or_insert(0u32) += 1;
        }
        assert_eq!(seen.len(), 6);
        // 1000 expected each, standard deviation 29.
        assert!(seen.values().all(|n| (880..=1120).contains(n)), "{seen:?}");
        assert!(randomized_blocks(0, 2, 1).iter().all(Vec::is_empty));
    }
}
