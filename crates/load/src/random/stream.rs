//! Streams of random numbers that never overlap.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// What a stream is used for. Numbers consumed for one purpose do not change those of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// What a client thread sends: keys, tables, texts.
    Transactions,
    /// When a client thread sends, in open loop.
    Arrivals,
    /// The initial rows of a table.
    Rows,
}

/// One stream of random numbers (xoshiro256++), determined by seed, purpose and index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Random {
    generator: Xoshiro256PlusPlus,
}

impl Random {
    /// The stream of thread or table number `index`. The streams of two purposes are 2^192 numbers apart, those of two
    /// indexes 2^128, so no two streams of one seed overlap. Costs about a microsecond per unit of `index`.
    pub fn new(seed: u64, purpose: Purpose, index: usize) -> Self {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        for _ in 0..purpose as usize {
            generator.long_jump();
        }
        for _ in 0..index {
            generator.jump();
        }
        Self { generator }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform in [0, 1), with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        const SCALE: f64 = 1.0 / (1u64 << 53) as f64;
        (self.bits() >> 11) as f64 * SCALE
    }

    /// Uniform in [0, n), 0 for n = 0. The bias is at most n / 2^64: below 1e-8 for every n used here.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_stream_repeats_and_no_two_share_their_numbers() {
        let firsts = |seed, purpose, index| {
            let mut random = Random::new(seed, purpose, index);
            (0..50).map(|_| random.bits()).collect::<Vec<_>>()
        };
        assert_eq!(firsts(7, Purpose::Transactions, 3), firsts(7, Purpose::Transactions, 3));
        let mut seen = BTreeSet::new();
        for seed in [7, 8] {
            for purpose in [Purpose::Transactions, Purpose::Arrivals, Purpose::Rows] {
                for index in 0..4 {
                    seen.extend(firsts(seed, purpose, index));
                }
            }
        }
        assert_eq!(seen.len(), 2 * 3 * 4 * 50);
    }

    #[test]
    fn below_reaches_both_ends_and_stays_inside() {
        let mut random = Random::new(1, Purpose::Rows, 0);
        let drawn: BTreeSet<u64> = (0..1000).map(|_| random.below(5)).collect();
        assert_eq!(drawn, BTreeSet::from([0, 1, 2, 3, 4]));
        assert_eq!(random.below(0), 0);
    }
}
