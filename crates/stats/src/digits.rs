//! Rounded values: their last digit, and noise to undo the rounding.

use crate::order::generator;
use rand_xoshiro::rand_core::Rng;

/// Values with more significant digits than this (counted from the largest value) count as not rounded.
const DIGITS: i32 = 9;
/// A value is a multiple of a digit if it differs from one by less than this share of the digit.
const OFF: f64 = 1e-6;

/// One unit in the last decimal digit that these values have, taken together: 0.01 for 3.25 and 3.5, 1000 for 24000 and
/// 37000. `None` when they have more digits than rounded values would.
pub fn last_digit(values: &[f64]) -> Option<f64> {
    let largest = values.iter().fold(0.0f64, |largest, v| largest.max(v.abs()));
    if !(largest > 0.0 && largest.is_finite()) {
        return None;
    }
    let first = largest.log10().floor() as i32;
    let whole = |digit: f64| {
        let is_multiple = |v: &f64| {
            let times = (v / digit).round();
            (v / digit - times).abs() < OFF && (times != 0.0 || *v == 0.0)
        };
        digit > 0.0 && values.iter().all(is_multiple)
    };
    (0..DIGITS).map(|place| 10f64.powi(first - place)).find(|digit| whole(*digit))
}

/// The values with uniform noise of width `digit`, half of it to either side. Rounding concentrates values on few
/// numbers, and a search for modes must not find those. The same values and seed give the same noise.
pub fn with_noise(values: &[f64], digit: f64, seed: u64) -> Vec<f64> {
    let mut rng = generator(seed);
    let mut unit = move || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    values.iter().map(|v| v + digit * (unit() - 0.5)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_digit_is_that_of_all_values_together() {
        assert_eq!(last_digit(&[3.25, 3.5, 10.0]), Some(0.01));
        assert_eq!(last_digit(&[24_000.0, 37_000.0]), Some(1000.0));
        assert_eq!(last_digit(&[24_403.0, 37_708.0]), Some(1.0));
        assert_eq!(last_digit(&[1.0 / 3.0, 2.0]), None);
        assert_eq!((last_digit(&[]), last_digit(&[0.0])), (None, None));
        assert_eq!(last_digit(&[1e9, 1e-3]), None, "what is not 0 was not rounded to 0");
        let least = last_digit(&[1e-300, 3e-300]).unwrap();
        assert!((least / 1e-300 - 1.0).abs() < 1e-12, "{least}");
    }

    #[test]
    fn noise_is_within_half_a_digit_and_always_the_same() {
        let values = [1.0, 1.1, 1.2];
        let noisy = with_noise(&values, 0.1, 1);
        assert_eq!(noisy, with_noise(&values, 0.1, 1));
        assert!(values.iter().zip(&noisy).all(|(v, noisy)| (v - noisy).abs() <= 0.05 && v != noisy));
    }
}
