//! The rate of an open loop as a function of time within a sample.

use std::fmt;
use std::str::FromStr;

/// The highest rate, transactions per second.
const MOST: f64 = 1e9;
/// The highest number of steps or waves.
const MOST_PARTS: u32 = 100;
/// Slices of a ramp, and least number of slices of waves, with separate latencies.
const SLICES: usize = 10;
/// Iterations at most of the search in [`Curve::when`]; a few are usually enough.
const MOST_ROUNDS: usize = 60;

/// The rate of an open loop over a sample, in transactions per second over all threads. The time `x` is 0 at the start
/// of the sample and 1 at its end. Before it (in the warm-up) the rate is that at its start, after it that at its end.
///
/// Text forms: `500`, `100 to 2000`, `100 to 2000 in 20 steps` and `100 to 2000 in 1 wave`; a rate may end in `/s`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Curve {
    /// r(x) = rate.
    Constant(f64),
    /// r(x) = from + (to - from) x.
    Ramp {
        /// Rate at the start.
        from: f64,
        /// Rate at the end.
        to: f64,
    },
    /// r(x) = from + (to - from) k / (steps - 1) in step k = floor(steps x), from 0.
    Steps {
        /// Rate in the first step.
        from: f64,
        /// Rate in the last step.
        to: f64,
        /// Number of steps, 2 to 100, all of the same length.
        steps: u32,
    },
    /// r(x) = (from + to) / 2 - (to - from) / 2 cos(2 pi waves x), for example one wave for a day, lowest at night.
    Waves {
        /// Rate at the start of each wave.
        from: f64,
        /// Rate in the middle of each wave.
        to: f64,
        /// Number of waves, 1 to 100.
        waves: u32,
    },
}

impl Curve {
    /// The rate at `x`, transactions per second.
    pub(crate) fn rate(self, x: f64) -> f64 {
        let x = x.clamp(0.0, 1.0);
        match self {
            Self::Constant(rate) => rate,
            Self::Ramp { from, to } => from + (to - from) * x,
            Self::Steps { from, to, steps } => {
                let step = ((f64::from(steps) * x) as u32).min(steps - 1);
                from + (to - from) * f64::from(step) / f64::from(steps - 1)
            }
            Self::Waves { from, to, waves } => {
                (from + to) / 2.0 - (to - from) / 2.0 * (std::f64::consts::TAU * f64::from(waves) * x).cos()
            }
        }
    }

    /// Arrivals from 0 to `x` in a sample of one second: the integral of the rate.
    ///
    /// A(x) = rate x; from x + (to - from) x² / 2; the sum of the steps; (from + to) / 2 x - (to - from) / (4 pi waves)
    /// sin(2 pi waves x).
    pub(crate) fn arrivals(self, x: f64) -> f64 {
        if x < 0.0 {
            return self.rate(0.0) * x;
        }
        if x > 1.0 {
            return self.arrivals(1.0) + self.rate(1.0) * (x - 1.0);
        }
        match self {
            Self::Constant(rate) => rate * x,
            Self::Ramp { from, to } => from * x + (to - from) * x * x / 2.0,
            Self::Steps { steps, .. } => {
                let step = ((f64::from(steps) * x) as u32).min(steps - 1);
                self.before_step(step) + self.rate(x) * (x - f64::from(step) / f64::from(steps))
            }
            Self::Waves { from, to, waves } => {
                let turn = std::f64::consts::TAU * f64::from(waves);
                (from + to) / 2.0 * x - (to - from) / 2.0 / turn * (turn * x).sin()
            }
        }
    }

    /// The time `x` at which this number of arrivals is reached: the inverse of [`Self::arrivals`].
    pub(crate) fn when(self, arrivals: f64) -> f64 {
        if arrivals < 0.0 {
            return arrivals / self.rate(0.0);
        }
        let all = self.arrivals(1.0);
        if arrivals > all {
            return 1.0 + (arrivals - all) / self.rate(1.0);
        }
        match self {
            Self::Constant(rate) => arrivals / rate,
            // This form of the solution of the quadratic equation stays accurate when from and to are close.
            Self::Ramp { from, to } => {
                2.0 * arrivals / (from + (from * from + 2.0 * (to - from) * arrivals).max(0.0).sqrt())
            }
            Self::Steps { steps, .. } => {
                let step = (1..steps).find(|step| self.before_step(*step) > arrivals).unwrap_or(steps) - 1;
                let begin = f64::from(step) / f64::from(steps);
                begin + (arrivals - self.before_step(step)) / self.rate((f64::from(step) + 0.5) / f64::from(steps))
            }
            Self::Waves { from, to, waves } => {
                // Finds the wave, then uses Newton's method with bisection as a fallback within its bounds.
                let waves = f64::from(waves);
                let mean = (from + to) / 2.0;
                let wave = (arrivals / mean * waves).floor().min(waves - 1.0);
                let (mut low, mut high) = (wave / waves, (wave + 1.0) / waves);
                let mut x = arrivals / mean;
                for _ in 0..MOST_ROUNDS {
                    let beyond = self.arrivals(x) - arrivals;
                    *(if beyond > 0.0 { &mut high } else { &mut low }) = x;
                    let newton = x - beyond / self.rate(x);
                    let next = if newton > low && newton < high { newton } else { (low + high) / 2.0 };
                    let moved = (next - x).abs();
                    x = next;
                    if moved <= f64::EPSILON * x {
                        break;
                    }
                }
                x
            }
        }
    }

    fn before_step(self, step: u32) -> f64 {
        let Self::Steps { from, to, steps } = self else { return 0.0 };
        let (step, steps) = (f64::from(step), f64::from(steps));
        (from * step + (to - from) * step * (step - 1.0).max(0.0) / 2.0 / (steps - 1.0)) / steps
    }

    /// Number of slices of the sample with separate latencies, all of the same length; 0 for a constant rate.
    pub(crate) fn slices(self) -> usize {
        match self {
            Self::Constant(_) => 0,
            Self::Ramp { .. } => SLICES,
            Self::Steps { steps, .. } => steps as usize,
            // At least two per wave, because the rate rises in one half of a wave and falls in the other.
            Self::Waves { waves, .. } => (2 * waves as usize).max(SLICES),
        }
    }

    /// Whether its rates are above 0 and at most [`MOST`], and its numbers of steps and waves are in range.
    pub(crate) fn is_sound(self) -> bool {
        let sound = |rate: f64| rate > 0.0 && rate <= MOST;
        match self {
            Self::Constant(rate) => sound(rate),
            Self::Ramp { from, to } => sound(from) && sound(to),
            Self::Steps { from, to, steps } => sound(from) && sound(to) && (2..=MOST_PARTS).contains(&steps),
            Self::Waves { from, to, waves } => sound(from) && sound(to) && (1..=MOST_PARTS).contains(&waves),
        }
    }
}

impl From<f64> for Curve {
    fn from(rate: f64) -> Self {
        Self::Constant(rate)
    }
}

impl fmt::Display for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(rate) => write!(f, "{rate}"),
            Self::Ramp { from, to } => write!(f, "{from} to {to}"),
            Self::Steps { from, to, steps } => write!(f, "{from} to {to} in {steps} steps"),
            Self::Waves { from, to, waves } => {
                write!(f, "{from} to {to} in {waves} wave{}", if *waves == 1 { "" } else { "s" })
            }
        }
    }
}

/// A text that is not a rate curve.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "transactions per second above 0 and up to 1e9: one rate (500), or from the start of a sample to its end 100 to \
     2000, 100 to 2000 in 20 steps (2 to 100), 100 to 2000 in 1 wave (1 to 100)"
)]
pub struct NoCurve;

impl FromStr for Curve {
    type Err = NoCurve;

    fn from_str(text: &str) -> Result<Self, NoCurve> {
        let rate = |word: &str| word.strip_suffix("/s").unwrap_or(word).parse::<f64>().map_err(|_| NoCurve);
        let parts = |word: &str| word.parse::<u32>().map_err(|_| NoCurve);
        let words: Vec<&str> = text.split_whitespace().collect();
        let curve = match words[..] {
            [one] => Self::Constant(rate(one)?),
            [from, "to", to] => Self::Ramp { from: rate(from)?, to: rate(to)? },
            [from, "to", to, "in", steps, "step" | "steps"] => {
                Self::Steps { from: rate(from)?, to: rate(to)?, steps: parts(steps)? }
            }
            [from, "to", to, "in", waves, "wave" | "waves"] => {
                Self::Waves { from: rate(from)?, to: rate(to)?, waves: parts(waves)? }
            }
            _ => return Err(NoCurve),
        };
        if curve.is_sound() { Ok(curve) } else { Err(NoCurve) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn curves() -> impl Strategy<Value = Curve> {
        let rates = (0.1..1e5_f64, 0.1..1e5_f64);
        prop_oneof![
            (0.1..1e5_f64).prop_map(Curve::Constant),
            rates.clone().prop_map(|(from, to)| Curve::Ramp { from, to }),
            (rates.clone(), 2..100_u32).prop_map(|((from, to), steps)| Curve::Steps { from, to, steps }),
            (rates, 1..100_u32).prop_map(|((from, to), waves)| Curve::Waves { from, to, waves }),
        ]
    }

    proptest! {
        #[test]
        fn arrivals_are_the_integral_of_the_rate(curve in curves(), a in -0.5..1.5_f64, b in -0.5..1.5_f64) {
            let (from, to) = (a.min(b), a.max(b));
            let pieces = 20_000;
            let width = (to - from) / f64::from(pieces);
            let sum: f64 = (0..pieces).map(|k| curve.rate(from + (f64::from(k) + 0.5) * width) * width).sum();
            let found = curve.arrivals(to) - curve.arrivals(from);
            // A step may begin anywhere in an interval.
            let highest = [0.0, 0.5, 1.0].map(|x| curve.rate(x)).into_iter().fold(0.0, f64::max);
            prop_assert!((found - sum).abs() <= highest * (100.0 * width + 1e-6), "{curve}: {found} and {sum}");
        }

        #[test]
        fn arrivals_grow_and_when_is_their_inverse(curve in curves(), a in -0.5..1.5_f64, b in -0.5..1.5_f64) {
            let (from, to) = (a.min(b), a.max(b));
            prop_assert!(from == to || curve.arrivals(from) < curve.arrivals(to));
            for x in [from, to, 0.0, 1.0] {
                let back = curve.when(curve.arrivals(x));
                prop_assert!((back - x).abs() < 1e-9, "{curve}: {x} and {back}");
                let rate = curve.rate(x);
                prop_assert!(rate > 0.0 && rate <= 1e5);
            }
        }

        #[test]
        fn a_rate_curve_reads_back_from_its_text(curve in curves()) {
            prop_assert_eq!(curve.to_string().parse(), Ok(curve));
        }
    }

    #[test]
    fn the_words_are_those_of_the_curves_and_nothing_else() {
        let read = |text: &str| text.parse::<Curve>();
        assert_eq!(read(" 500/s"), Ok(Curve::Constant(500.0)));
        assert_eq!(read("100/s to 2e3/s"), Ok(Curve::Ramp { from: 100.0, to: 2000.0 }));
        assert_eq!(read("100 to 2000 in 20 steps"), Ok(Curve::Steps { from: 100.0, to: 2000.0, steps: 20 }));
        assert_eq!(read("9 to 1 in 1 wave"), Ok(Curve::Waves { from: 9.0, to: 1.0, waves: 1 }));
        for wrong in ["", "0", "-1", "nan", "inf", "2e9", "1 to", "1 to 0", "1 to 2 in 1 steps", "1 to 2 in 0 waves"] {
            assert_eq!(read(wrong), Err(NoCurve), "{wrong}");
        }
    }

    #[test]
    fn rates_at_the_ends_and_arrivals_in_all_are_those_of_the_formulas() {
        let of = |text: &str| text.parse::<Curve>().unwrap();
        let ends = |curve: Curve| [curve.rate(-1.0), curve.rate(0.0), curve.rate(0.5), curve.rate(1.0)];
        assert_eq!(ends(of("100 to 300")), [100.0, 100.0, 200.0, 300.0]);
        assert_eq!(ends(of("100 to 300 in 2 steps")), [100.0, 100.0, 300.0, 300.0]);
        assert_eq!(ends(of("100 to 300 in 1 wave")), [100.0, 100.0, 300.0, 100.0]);
        for text in ["200", "100 to 300", "100 to 300 in 3 steps", "100 to 300 in 2 waves"] {
            assert!((of(text).arrivals(1.0) - 200.0).abs() < 1e-9, "{text}");
        }
    }
}
