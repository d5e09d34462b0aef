//! Zipfian numbers by rejection-inversion.
//!
//! W. Hoermann, G. Derflinger: "Rejection-inversion to generate variates from monotone discrete distributions",
//! ACM Transactions on Modeling and Computer Simulation 6(3), 1996, algorithm ZRI with v = 0. The density x^-q is
//! integrated in closed form; a random value of the integral is inverted to x and rounded to k; the part of the area of
//! k that exceeds its probability k^-q is rejected. On average, a number needs fewer than 1.2 rounds.

use super::stream::Random;

/// Draws k in [1, n] with P(k) proportional to k^-exponent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Zipfian {
    exponent: f64,
    n: f64,
    /// Integral at 1.5 minus the weight of k = 1: the lower end of the area under the hat function.
    lowest: f64,
    /// Integral at n + 1/2: the upper end of that area.
    highest: f64,
    /// If k - x is at most this, k is accepted without evaluating the integral again.
    surely_within: f64,
}

impl Zipfian {
    pub(super) fn new(n: u64, exponent: f64) -> Self {
        let n = n as f64;
        let lowest = integral(1.5, exponent) - 1.0;
        let highest = integral(n + 0.5, exponent);
        let surely_within = 2.0 - inverse(integral(2.5, exponent) - density(2.0, exponent), exponent);
        Self { exponent, n, lowest, highest, surely_within }
    }

    #[inline]
    pub(super) fn draw(&self, random: &mut Random) -> u64 {
        loop {
            // In (lowest, highest]: the end on the side of k = 1 is excluded.
            let area = self.highest + random.unit() * (self.lowest - self.highest);
            let x = inverse(area, self.exponent);
            let k = x.round().clamp(1.0, self.n);
            if k - x <= self.surely_within || area >= integral(k + 0.5, self.exponent) - density(k, self.exponent) {
                return k as u64;
            }
        }
    }
}

/// An exponent nearer to 1 than this counts as 1; the integral is then the logarithm.
const NEARLY_ONE: f64 = 1e-9;

/// The unscaled density of x, x^-q.
fn density(x: f64, q: f64) -> f64 {
    x.powf(-q)
}

/// Integral of the density from 1 to x: (x^(1-q) - 1) / (1-q).
fn integral(x: f64, q: f64) -> f64 {
    let power = 1.0 - q;
    if power.abs() < NEARLY_ONE { x.ln() } else { (power * x.ln()).exp_m1() / power }
}

/// The x at which [`integral`] is `area`.
fn inverse(area: f64, q: f64) -> f64 {
    let power = 1.0 - q;
    if power.abs() < NEARLY_ONE {
        area.exp()
    } else {
        // Rounding can make the argument slightly less than -1, where the logarithm is not defined.
        ((power * area).max(-1.0).ln_1p() / power).exp()
    }
}
