//! The power of the test for modes: how far apart modes must be to be detected.

use crate::blocks::{Condition, Residuals};
use crate::descriptive::mean;
use crate::modes::{p_value, residuals};
use crate::order::generator;
use crate::quantiles::normal;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

/// Simulated studies, enough for a figure in whole percent.
const STUDIES: usize = 300;
/// More trials than this are treated as this many: the power is nearly the same.
const MOST: usize = 120;

/// The power for one condition: the share of conditions of `n` trials, each in one of two equally likely modes that are
/// `apart` standard deviations of a mode from each other, for which [`p_value`] is at most `chance`.
pub fn of_one(n: usize, apart: f64, chance: f64, seed: u64) -> f64 {
    let mut rng = generator(seed);
    seen(|| p_value(&bimodal(&mut rng, n.min(MOST), apart)), chance)
}

/// The power for a study: the share of studies whose conditions all have two such modes and the given numbers of
/// trials, for which the p-value of all trials [together](crate::modes::together) is at most `chance`.
pub fn of_all(trials: &[usize], apart: f64, without_blocks: bool, chance: f64, seed: u64) -> f64 {
    let mut rng = generator(seed);
    let taken = trials.iter().scan(MOST, |left, n| {
        let taken = (*n).min(*left);
        *left -= taken;
        (taken > 1).then_some(taken)
    });
    let taken: Vec<usize> = taken.collect();
    let mut study = || {
        let own = |n: &usize| bimodal(&mut rng, *n, apart).into_iter().enumerate().collect();
        let conditions: Vec<Condition> = taken.iter().map(own).collect();
        let left = if without_blocks { Residuals::of(&conditions) } else { None };
        p_value(&left.map_or_else(|| residuals(&conditions), |left| left.values))
    };
    seen(&mut study, chance)
}

fn seen(mut study: impl FnMut() -> Option<f64>, chance: f64) -> f64 {
    let seen: Vec<f64> = (0..STUDIES).map(|_| f64::from(study().is_some_and(|p| p <= chance))).collect();
    mean(&seen).unwrap_or(0.0)
}

fn bimodal(rng: &mut Xoshiro256PlusPlus, n: usize, apart: f64) -> Vec<f64> {
    let value = |_| {
        let upper = rng.next_u64() >> 63 == 1;
        // In the middle of its interval, so that it is neither 0 nor 1.
        let unit = ((rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        normal(unit) + if upper { apart } else { 0.0 }
    };
    (0..n).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_grows_with_distance_and_with_conditions() {
        let one = |apart| of_one(12, apart, 0.02, 1);
        assert!(one(0.0) < 0.03 && one(4.0) < 0.3 && one(12.0) > 0.9, "{} {} {}", one(0.0), one(4.0), one(12.0));
        let all = |conditions, without_blocks| of_all(&vec![10; conditions], 4.0, without_blocks, 0.005, 1);
        for without_blocks in [false, true] {
            let (many, few) = (all(12, without_blocks), all(3, without_blocks));
            assert!(many > 2.0 * few, "{many} {few}");
        }
        let long = of_all(&[150, 150], 4.0, false, 0.005, 1);
        assert!(long > 0.5, "more trials than are computed are no fewer: {long}");
        assert_eq!(of_one(5, 10.0, 0.02, 1), 0.0, "too few to be tested");
        assert_eq!(of_all(&[1, 1], 10.0, false, 0.02, 1), 0.0);
    }
}
