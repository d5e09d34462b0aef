//! Random numbers: reproducible streams that never overlap, and over them the key distributions of sysbench 1.0.20, the
//! Zipfian distribution of later versions, and those of pgbench. Zipfian numbers are drawn by rejection-inversion.
//!
//! W. Hoermann, G. Derflinger: "Rejection-inversion to generate variates from monotone discrete distributions",
//! ACM Transactions on Modeling and Computer Simulation 6(3), 1996, algorithm ZRI with v = 0. The density x^-q is
//! integrated in closed form; a random value of the integral is inverted to x and rounded to k; the part of the area of
//! k that exceeds its probability k^-q is rejected. On average, a number needs fewer than 1.2 rounds.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::f64::consts::TAU;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use tare_text::{did_you_mean, nearest};

/// Uniform numbers summed for one gaussian number (sysbench's `rand-spec-iter`).
const GAUSSIAN_TERMS: u32 = 12;
/// Part of the range that holds the hot keys of `special` (`rand-spec-pct` 1).
const SPECIAL_HOT_PART: f64 = 0.01;
/// Part of the draws of `special` that are not hot: 1 - `rand-spec-res` 75 %.
const SPECIAL_COLD_DRAWS: f64 = 0.25;
/// `rand-pareto-h`: the first h of the range gets 1 - h of the draws.
const PARETO_H: f64 = 0.2;
/// The default exponent, sysbench's `rand-zipfian-exp`.
const ZIPFIAN_EXPONENT: f64 = 0.8;
/// pgbench's smallest parameter of `random_gaussian`: with less, too many numbers would be drawn again.
const LEAST_DEVIATIONS: f64 = 2.0;

/// How keys are drawn from a range. All defaults are those of sysbench.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Distribution {
    /// Every key has the same probability.
    Uniform,
    /// P(k) proportional to k^-exponent, not scrambled: the first key is the hottest, and hot keys are adjacent.
    Zipfian {
        /// At least 0; the default is 0.8.
        exponent: f64,
    },
    /// Three of four draws fall into the middle 1 % of the range; the others are bell-shaped over the whole range.
    #[default]
    Special,
    /// 80 % of the draws fall into the first 20 % of the range, and recursively within it.
    Pareto,
    /// Bell-shaped around the middle: the mean of 12 uniform numbers.
    Gaussian,
    /// pgbench's `random_gaussian`: a normal distribution around the middle of the range.
    Normal {
        /// Standard deviations from the middle to each end, where it is cut off; at least 2.
        deviations: f64,
    },
    /// pgbench's `random_exponential`: the first key is the hottest.
    Exponential {
        /// The density at the end of the range is exp(-decay) of that at its beginning; above 0.
        decay: f64,
    },
}

/// A name that is not a distribution.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown distribution {given:?}: expected uniform, zipfian, zipfian:EXPONENT (at least 0), special, pareto, \
     gaussian, normal:PARAMETER (at least 2) or exponential:PARAMETER (above 0){}", did_you_mean(*nearest)
)]
pub struct UnknownDistribution {
    /// The name that was given.
    pub given: String,
    /// The most similar known name, if one is similar enough.
    pub nearest: Option<&'static str>,
}

impl FromStr for Distribution {
    type Err = UnknownDistribution;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "uniform" => Ok(Self::Uniform),
            "zipfian" => Ok(Self::Zipfian { exponent: ZIPFIAN_EXPONENT }),
            "special" => Ok(Self::Special),
            "pareto" => Ok(Self::Pareto),
            "gaussian" => Ok(Self::Gaussian),
            _ => with_parameter(text)
                .ok_or_else(|| UnknownDistribution { given: text.to_owned(), nearest: nearest(text, Self::NAMES) }),
        }
    }
}

/// `NAME:PARAMETER`.
fn with_parameter(text: &str) -> Option<Distribution> {
    let (name, parameter) = text.split_once(':')?;
    let (limits, _) = Distribution::limits(name)?;
    let parameter = parameter.parse::<f64>().ok().filter(|parameter| limits.contains(parameter))?;
    match name {
        "zipfian" => Some(Distribution::Zipfian { exponent: parameter }),
        "normal" => Some(Distribution::Normal { deviations: parameter }),
        "exponential" => Some(Distribution::Exponential { decay: parameter }),
        _ => None,
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Zipfian { exponent } if *exponent == ZIPFIAN_EXPONENT => f.write_str("zipfian"),
            Self::Zipfian { exponent } => write!(f, "zipfian:{exponent}"),
            Self::Special => f.write_str("special"),
            Self::Pareto => f.write_str("pareto"),
            Self::Gaussian => f.write_str("gaussian"),
            Self::Normal { deviations } => write!(f, "normal:{deviations}"),
            Self::Exponential { decay } => write!(f, "exponential:{decay}"),
        }
    }
}

impl Distribution {
    /// The names that parse without a parameter, for suggestions.
    const NAMES: [&str; 5] = ["uniform", "zipfian", "special", "pareto", "gaussian"];

    /// The limits of the parameter of a distribution, also in words; none for a name without a parameter.
    pub fn limits(name: &str) -> Option<(RangeInclusive<f64>, &'static str)> {
        match name {
            "zipfian" => Some((0.0..=f64::MAX, "at least 0")),
            "normal" => Some((LEAST_DEVIATIONS..=f64::MAX, "at least 2")),
            "exponential" => Some((f64::MIN_POSITIVE..=f64::MAX, "above 0")),
            _ => None,
        }
    }

    /// Whether it has a parameter other than sysbench's default.
    pub fn has_parameter(self) -> bool {
        match self {
            Self::Zipfian { exponent } => exponent != ZIPFIAN_EXPONENT,
            Self::Normal { .. } | Self::Exponential { .. } => true,
            Self::Uniform | Self::Special | Self::Pareto | Self::Gaussian => false,
        }
    }

    /// This distribution over `[a, b]`, with its constants precomputed. A `b` below `a` counts as `a`.
    pub fn over(self, a: u64, b: u64) -> Draw {
        let b = b.max(a);
        let n = (b - a).saturating_add(1);
        let shape = match self {
            Self::Uniform => Shape::Uniform,
            Self::Zipfian { exponent } => Shape::Zipfian(Zipfian::new(n, exponent)),
            Self::Special => Shape::Special,
            Self::Pareto => Shape::Pareto { power: PARETO_H.ln() / (1.0 - PARETO_H).ln() },
            Self::Gaussian => Shape::Gaussian,
            Self::Normal { deviations } => Shape::Normal { deviations },
            Self::Exponential { decay } => Shape::Exponential { decay, share: -(-decay).exp_m1() },
        };
        Draw { a, b, n: n as f64, shape }
    }
}

/// A distribution over one range, ready to draw from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draw {
    a: u64,
    b: u64,
    /// How many numbers are in the range.
    n: f64,
    shape: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Uniform,
    Zipfian(Zipfian),
    Special,
    Pareto {
        power: f64,
    },
    Gaussian,
    Normal {
        deviations: f64,
    },
    /// `share` is the part of an exponential distribution without an end that lies within the range.
    Exponential {
        decay: f64,
        share: f64,
    },
}

impl Draw {
    /// One number from the range, both ends included.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        let offset = match &self.shape {
            Shape::Uniform => (random.unit() * self.n) as u64,
            Shape::Zipfian(zipfian) => zipfian.draw(random) - 1,
            Shape::Special => special(random, self.n - 1.0),
            Shape::Pareto { power } => (self.n * random.unit().powf(*power)) as u64,
            Shape::Gaussian => (mean_of_uniforms(random) * self.n) as u64,
            Shape::Normal { deviations } => (normal(random, *deviations) * self.n) as u64,
            Shape::Exponential { decay, share } => (-(-share * random.unit()).ln_1p() / decay * self.n) as u64,
        };
        // Beyond 2^53 rows a product could round up to the end of the range.
        (self.a + offset).min(self.b)
    }
}

fn mean_of_uniforms(random: &mut Random) -> f64 {
    (0..GAUSSIAN_TERMS).map(|_| random.unit()).sum::<f64>() / f64::from(GAUSSIAN_TERMS)
}

/// A number from 0 to 1 of a normal distribution around 1/2, drawn again if it is beyond these deviations (Box-Muller).
fn normal(random: &mut Random, deviations: f64) -> f64 {
    loop {
        // The length is in (0, 1], because 0 has no logarithm.
        let (length, angle) = (1.0 - random.unit(), TAU * random.unit());
        let drawn = (-2.0 * length.ln()).sqrt() * angle.sin();
        if (-deviations..deviations).contains(&drawn) {
            return 0.5 + drawn / (2.0 * deviations);
        }
    }
}

/// Offset into a range of span `t` (last - first). The random number that decides between hot and cold is used again
/// for the hot key, so hot keys come from the upper three quarters of the hot part. This is as in sysbench and must not
/// change.
fn special(random: &mut Random, t: f64) -> u64 {
    let u = random.unit();
    if u / SPECIAL_COLD_DRAWS * t < t {
        return (mean_of_uniforms(random) * t) as u64;
    }
    let hot = SPECIAL_HOT_PART * t;
    (u * (hot + 1.0) + t / 2.0 - hot / 2.0) as u64
}

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

/// Draws k in [1, n] with P(k) proportional to k^-exponent.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Zipfian {
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

#[cfg(test)]
#[path = "random_tests.rs"]
mod tests;
