//! Whether a probe helps on this machine: how much of the variation of a metric from one moment to the next a probe
//! explains, from short repeats one after the other.

use crate::descriptive::mean;
use crate::interval::Interval;
use crate::quantiles::normal_two_sided;

/// A probe helps if less than this share of the standard deviation remains: adjusting by an uninformative probe widens
/// an interval by 7%, and slightly more with few trials.
pub const WORTH: f64 = 0.9;
/// Fewest repeats for a result.
const FEWEST: usize = 8;

/// Whether to use a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum Advice {
    /// Less than [`WORTH`] of the standard deviation remains.
    Helps,
    /// More than [`WORTH`] of it remains.
    DoesNotHelp,
    /// The interval includes both.
    CannotTell,
}

/// How much of a metric a probe explains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worth {
    /// Correlation of metric and probe over the repeats.
    pub correlation: f64,
    /// Interval of the correlation, by Fisher's z.
    pub correlation_ci: Interval,
    /// Residual standard deviation with the probe divided by that without it, sqrt(1 - r^2); 1 when the correlation has
    /// the wrong sign.
    pub left: f64,
    /// Interval of `left`, from that of the correlation.
    pub left_ci: Interval,
    /// Effective number of repeats; with autocorrelation it is smaller than the actual number.
    pub repeats: f64,
    /// Whether to use the probe, as far as these repeats can tell.
    pub advice: Advice,
}

/// How much of a metric a probe explains. `metric` and `probe` are from the same repeats, in order, and both grow when
/// the machine is slower (for a throughput, use the negative logarithm). `None` with fewer than eight repeats, or when
/// one of the two never varies.
///
/// The interval is Fisher's, for the effective number of repeats, n / (1 + 2 sum a_k b_k), with a_k and b_k the
/// autocorrelations of the two at lag k (Bartlett 1935), or that of lag 1 alone if it is smaller,
/// n (1 - ab) / (1 + ab). Lag 1 alone would miss a trend under the noise of single repeats. Two trends always
/// correlate: a server that gets slower on a machine that does, each for its own reason, does not need a probe.
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
    let repeats = n as f64 * ((1.0 - shared) / (1.0 + shared)).min(1.0 / (1.0 + 2.0 * alike([&x, &y], [xx, yy])));
    // Three repeats have no interval; with less than one more almost any correlation is possible.
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

/// Lag-1 autocorrelation, limited to 0 to 0.99 and corrected for the bias of subtracting the mean.
fn neighbours(x: &[f64], squares: f64) -> f64 {
    let n = x.len() as f64;
    let found = product(&x[1..], x) / squares;
    ((found + 1.0 / n) / (1.0 - 3.0 / n)).clamp(0.0, 0.99)
}

/// Sum over lags of the products of the autocorrelations of both, up to the first lag at which one is not positive.
fn alike(of: [&[f64]; 2], squares: [f64; 2]) -> f64 {
    let n = of[0].len();
    let at = |lag: usize, one: usize| product(&of[one][lag..], of[one]) / squares[one] + 1.0 / n as f64;
    let pairs = (1..n / 2).map(|lag| [at(lag, 0), at(lag, 1)]);
    pairs.take_while(|pair| pair.iter().all(|found| *found > 0.0)).map(|[a, b]| a * b).sum()
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
        // With the opposite sign the probe explains nothing: the metric is faster when the machine is slower.
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
