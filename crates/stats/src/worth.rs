//! Would a reference weight help here: how much of what a metric varies by from one moment to the next goes with a
//! probe alongside it, from short repeats one after the other.

use crate::descriptive::mean;
use crate::interval::Interval;
use crate::quantiles::normal_two_sided;

/// A probe helps where it leaves less than this of the spread: to adjust by one that says nothing costs 7% of the width
/// of an interval, and a little more with few trials.
pub const WORTH: f64 = 0.9;
/// Fewest repeats of which anything is said.
const FEWEST: usize = 8;

/// What to do with a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum Advice {
    /// It leaves less than [`WORTH`] of the spread.
    Helps,
    /// It leaves more.
    DoesNotHelp,
    /// The interval has both.
    CannotTell,
}

/// What a probe says of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worth {
    /// Correlation of the two over the repeats.
    pub correlation: f64,
    /// Interval of the correlation, by Fisher's z.
    pub correlation_ci: Interval,
    /// Spread that the probe would leave over all spread, sqrt(1 - r^2); 1 where the correlation has the wrong sign.
    pub left: f64,
    /// Interval of the spread that is left, from that of the correlation.
    pub left_ci: Interval,
    /// Repeats that count: of those that resemble the ones before them fewer than there are.
    pub repeats: f64,
    /// Whether to use the probe, as far as this many repeats can say.
    pub advice: Advice,
}

/// What a probe says of a metric: `metric` and `probe` are of the same repeats in their order, and both grow where the
/// machine is slower (of a throughput, the logarithm's negative). None of fewer than eight repeats, or where one of the
/// two never varies.
///
/// The interval is Fisher's, over as many repeats as independent ones would say as much: n (1 - ab) / (1 + ab) with a
/// and b the correlations of neighbours in either (Bartlett 1935).
pub fn worth(metric: &[f64], probe: &[f64], confidence: f64) -> Option<Worth> {
    let n = metric.len();
    if n < FEWEST || probe.len() != n || !metric.iter().chain(probe).all(|v| v.is_finite()) {
        return None;
    }
    let (y, x) = (centred(metric)?, centred(probe)?);
    let (xx, yy) = (product(&x, &x), product(&y, &y));
    if xx <= 0.0 || yy <= 0.0 {
        return None;
    }
    let correlation = (product(&x, &y) / (xx * yy).sqrt()).clamp(-1.0, 1.0);
    let shared = neighbours(&x, xx) * neighbours(&y, yy);
    let repeats = n as f64 * (1.0 - shared) / (1.0 + shared);
    // Three repeats have no interval: with fewer than one beyond it anything is possible.
    let half = normal_two_sided(confidence) / (repeats - 3.0).max(0.25).sqrt();
    let centre = correlation.clamp(-0.999_999, 0.999_999).atanh();
    let correlation_ci = Interval { low: (centre - half).tanh(), high: (centre + half).tanh() };
    let left = |r: f64| (1.0 - r.max(0.0).powi(2)).sqrt();
    let left_ci = Interval { low: left(correlation_ci.high), high: left(correlation_ci.low) };
    let advice = match left_ci {
        Interval { high, .. } if high < WORTH => Advice::Helps,
        Interval { low, .. } if low > WORTH => Advice::DoesNotHelp,
        _ => Advice::CannotTell,
    };
    Some(Worth { correlation, correlation_ci, left: left(correlation), left_ci, repeats, advice })
}

fn centred(values: &[f64]) -> Option<Vec<f64>> {
    let centre = mean(values)?;
    Some(values.iter().map(|value| value - centre).collect())
}

fn product(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Correlation of neighbours, from 0 to 0.99, with what taking out the mean costs it given back.
fn neighbours(x: &[f64], squares: f64) -> f64 {
    let n = x.len() as f64;
    let found = product(&x[1..], x) / squares;
    ((found + 1.0 / n) / (1.0 - 3.0 / n)).clamp(0.0, 0.99)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_that_moves_with_the_metric_helps_and_one_that_does_not_does_not() {
        let speed: Vec<f64> = (0..60).map(|i| f64::from((i * 37) % 60) / 60.0).collect();
        let other: Vec<f64> = (0..60).map(|i| f64::from((i * 23 + 11) % 60 % 7)).collect();
        let with: Vec<f64> = speed.iter().zip(&other).map(|(s, o)| s + 0.02 * o).collect();
        let found = worth(&with, &speed, 0.95).unwrap();
        assert!(found.advice == Advice::Helps && found.left < 0.3 && found.left_ci.contains(found.left), "{found:?}");
        // Against each other they leave everything: the metric is faster where the machine is slower.
        let against: Vec<f64> = speed.iter().map(|s| -s).collect();
        let found = worth(&against, &speed, 0.95).unwrap();
        assert_eq!((found.advice, found.left), (Advice::DoesNotHelp, 1.0));
    }

    #[test]
    fn too_few_repeats_and_what_never_varies_say_nothing() {
        assert_eq!(worth(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0], 0.95), None);
        assert_eq!(worth(&[1.0; 20], &(0..20).map(f64::from).collect::<Vec<_>>(), 0.95), None);
        assert_eq!(worth(&[f64::NAN; 20], &[1.0; 20], 0.95), None);
    }
}
