//! The ratio of two means with its interval.

use super::rounding::Rounding;
use crate::descriptive::{mean, variance};
use crate::error::{Error, all_finite, all_positive, valid_confidence};
use crate::interval::{Estimate, Interval};
use crate::quantiles::{self, t_two_sided};
use crate::trials::signed_mean_interval;

/// An effect (ratio or difference) that can be tested against any value.
pub(super) trait Tested {
    /// The point estimate: B / A, or B - A.
    fn value(&self) -> f64;
    /// Whether both arms have a variance.
    fn replicated(&self) -> bool;
    /// The two-sided interval, if it exists.
    fn interval(&self, confidence: f64) -> Option<Interval>;
    /// The t statistic of the hypothesis ratio = theta against a larger ratio (`way` 1) or a smaller one (-1), and its
    /// degrees of freedom.
    fn statistic(&self, theta: f64, way: f64) -> (f64, f64);
}

/// A difference in standard errors; infinite without a standard error.
pub(super) fn in_errors(difference: f64, se: f64) -> f64 {
    match se {
        0.0 if difference > 0.0 => f64::INFINITY,
        0.0 => f64::NEG_INFINITY,
        se => difference / se,
    }
}

/// Squared standard errors of the means of A and B and their covariance, in units of the square of A's mean.
pub(super) struct Squares {
    pub a: f64,
    pub b: f64,
    pub both: f64,
}

impl Squares {
    /// That of mean(B) - theta mean(A).
    pub fn of(&self, theta: f64) -> f64 {
        (self.b - 2.0 * theta * self.both + theta * theta * self.a).max(0.0)
    }

    /// Fieller's interval of this ratio: all theta for which mean(B) - theta mean(A) is at most `t` of its standard
    /// errors from 0. `None` if they are unbounded.
    pub fn interval(&self, ratio: f64, t: f64) -> Option<Interval> {
        let t2 = t * t;
        let (centre, scale) = (ratio - t2 * self.both, 1.0 - t2 * self.a);
        // centre^2 - scale (ratio^2 - t2 b), without the terms that cancel.
        let root = (t2 * self.of(ratio) + t2 * t2 * (self.both * self.both - self.a * self.b)).max(0.0).sqrt();
        if scale > 0.0 { Interval::finite((centre - root) / scale, (centre + root) / scale) } else { None }
    }
}

/// Means, squared standard errors and degrees of freedom of both arms.
pub(super) struct Moments {
    mean: [f64; 2],
    se2: [f64; 2],
    df: [f64; 2],
    /// The unit of B divided by that of A. Each arm is stored in units of its own magnitude, so that squares neither
    /// overflow nor underflow whatever the metric's unit.
    unit: f64,
    /// Whether no value is negative, and so the ratio is not.
    positive: bool,
    /// By how much rounding may have moved each mean.
    slack: [f64; 2],
}

impl Moments {
    /// `inflation` holds the factors by which the variance of each arm's mean exceeds that of independent trials; 1 if
    /// they are independent.
    pub fn of(a: &[f64], b: &[f64], inflation: [f64; 2], rounding: [Rounding; 2]) -> Result<Self, Error> {
        let few = |arm: &str| Error::TooFew { what: format!("trials of {arm}"), needed: 1, got: 0 };
        all_finite("trial means", a)?;
        all_finite("trial means", b)?;
        let positive = a.iter().chain(b).all(|v| *v >= 0.0);
        let units = [a, b].map(magnitude);
        let [a, b] = [(a, units[0]), (b, units[1])].map(|(x, u)| x.iter().map(|v| v / u).collect::<Vec<f64>>());
        let mean = [mean(&a).ok_or_else(|| few("A"))?, mean(&b).ok_or_else(|| few("B"))?];
        if mean[0] == 0.0 {
            return Err(Error::NotPositive { what: "magnitude of the mean of A".into(), value: 0.0 });
        }
        // Relative to the means, so that both arms may be pooled.
        let scale = mean.map(|mean| if mean == 0.0 { 1.0 } else { mean * mean });
        let least = [0, 1].map(|i| rounding[i].variance(units[i]));
        let arm = |x: &[f64], i: usize| (variance(x).map_or(f64::NAN, |v| v.max(least[i]) / scale[i]), x.len() as f64);
        let arms = quantiles::variances_of_arms(&[arm(&a, 0), arm(&b, 1)]);
        let n = [a.len() as f64, b.len() as f64];
        let se2 = [0, 1].map(|i| arms[i].0 * scale[i] / n[i] * inflation[i]);
        let df = [0, 1].map(|i| fewer(arms[i].1, inflation[i]));
        let slack = [0, 1].map(|i| rounding[i].slack / units[i]);
        let unit = units[1] / units[0];
        match unit.is_normal() {
            true => Ok(Self { mean, se2, df, unit, positive, slack }),
            false => Err(Error::NotFinite { what: "ratio of the means".into() }),
        }
    }

    /// The ratio of the stored means; times `unit` it is the ratio of the metric.
    fn held_ratio(&self) -> f64 {
        self.mean[1] / self.mean[0]
    }

    /// With the means that rounding may hide and that make the ratio largest (`way` 1) or smallest (-1).
    fn moved(&self, way: f64) -> Self {
        let [a, b] = self.slack;
        Self { mean: [self.mean[0] - way * a, self.mean[1] + way * b], ..*self }
    }

    fn interval_of_means(&self, confidence: f64) -> Option<Interval> {
        let [a, b] = self.se2.map(|se2| se2 / self.mean[0] / self.mean[0]);
        let t = || t_two_sided(confidence, self.contrast(self.held_ratio()).1);
        let found = self.replicated().then(|| Squares { a, b, both: 0.0 }.interval(self.held_ratio(), t())).flatten();
        let found = found.filter(|i| !self.positive || i.low > 0.0).or_else(|| self.log_interval(confidence));
        found.and_then(|i| Interval::finite(i.low * self.unit, i.high * self.unit))
    }

    /// Interval on the logarithm of the ratio (the delta method), for values that are not negative but so variable that
    /// Fieller's interval is unbounded or has a limit below 0, which their ratio cannot have.
    fn log_interval(&self, confidence: f64) -> Option<Interval> {
        if !(self.positive && self.mean[1] > 0.0 && self.replicated()) {
            return None;
        }
        let parts = [0, 1].map(|i| self.se2[i] / self.mean[i].powi(2));
        let (total, df) = quantiles::sum_of_variances(parts.into_iter().zip(self.df));
        let half = t_two_sided(confidence, df) * total.sqrt();
        Interval::finite((self.held_ratio().ln() - half).exp(), (self.held_ratio().ln() + half).exp())
    }

    /// Standard error and Welch-Satterthwaite degrees of freedom of mean(B) - theta mean(A), theta in stored units.
    fn contrast(&self, theta: f64) -> (f64, f64) {
        let parts = [theta * theta * self.se2[0], self.se2[1]];
        let (total, df) = quantiles::sum_of_variances(parts.into_iter().zip(self.df));
        (total.sqrt(), df)
    }
}

/// Autocorrelated trials have fewer degrees of freedom, but at least two if there were two: with one, every interval
/// would be 12.7 standard errors wide, for which no estimate of a correlation is precise enough.
pub(crate) fn fewer(df: f64, inflation: f64) -> f64 {
    if df >= 1.0 { (df / inflation).max(df.min(2.0)) } else { df }
}

impl Tested for Moments {
    fn value(&self) -> f64 {
        self.held_ratio() * self.unit
    }

    fn replicated(&self) -> bool {
        self.df.iter().all(|df| *df >= 1.0)
    }

    fn interval(&self, confidence: f64) -> Option<Interval> {
        let [low, high] = [-1.0, 1.0].map(|way| self.moved(way).interval_of_means(confidence));
        low.zip(high).and_then(|(low, high)| Interval::finite(low.low, high.high))
    }

    fn statistic(&self, theta: f64, way: f64) -> (f64, f64) {
        let theta = theta / self.unit;
        let (se, df) = self.contrast(theta);
        let moved = self.moved(-way);
        (in_errors(way * (moved.mean[1] - theta * moved.mean[0]) * self.mean[0].signum(), se), df)
    }
}

/// A power of two, so that dividing by it is exact, near the largest absolute value; 1 when all are 0.
fn magnitude(values: &[f64]) -> f64 {
    let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    if largest > 0.0 { largest.log2().floor().exp2() } else { 1.0 }
}

/// Ratio of the means of B and A with Fieller's interval: all theta for which mean(B) - theta mean(A) is not
/// significantly different from 0, [Y Y' +- sqrt((Y Y')^2 - (Y^2 - h^2)(Y'^2 - h'^2))] / (Y^2 - h^2) with h^2 = t^2 S^2
/// / n of each arm. Kalibera & Jones take t from each arm's own n - 1, whose coverage is too high (98% with 3 trials
/// per arm); here both arms use the t of the Welch-Satterthwaite degrees of freedom at the point estimate. For values
/// that are not negative, the interval on the logarithm of the ratio is used where Fieller's is unbounded or reaches
/// below 0. The interval is absent when an arm has a single trial, or no such interval exists.
///
/// # Errors
/// [`Error::TooFew`] for an empty arm, [`Error::NotFinite`], and [`Error::NotPositive`] when A's mean is 0.
pub fn fieller(a: &[f64], b: &[f64], confidence: f64) -> Result<Estimate, Error> {
    valid_confidence(confidence)?;
    estimate(&Moments::of(a, b, [1.0; 2], Default::default())?, confidence)
}

/// A ratio, or a difference, with its interval.
pub(super) fn estimate(tested: &dyn Tested, confidence: f64) -> Result<Estimate, Error> {
    let value = tested.value();
    if !value.is_finite() {
        return Err(Error::NotFinite { what: "what the means come to".into() });
    }
    Ok(Estimate { value, ci: tested.interval(confidence) })
}

/// Ratio of paired trials, run side by side or one after the other: exp of the mean of ln(B_j / A_j) with its t
/// interval. It is the ratio of geometric means, without the effects that both sides of a pair share.
///
/// # Errors
/// [`Error::Mismatch`] for arms of different length, [`Error::TooFew`] without pairs, [`Error::NotPositive`] for values
/// that are not positive.
pub fn paired(a: &[f64], b: &[f64], confidence: f64) -> Result<Estimate, Error> {
    valid_confidence(confidence)?;
    if a.len() != b.len() {
        return Err(Error::Mismatch { what: "trials of B, one for each of A".into(), expected: a.len(), got: b.len() });
    }
    all_positive("trial means of A", a)?;
    all_positive("trial means of B", b)?;
    let logs: Vec<f64> = a.iter().zip(b).map(|(a, b)| b.ln() - a.ln()).collect();
    let centre = mean(&logs).ok_or(Error::TooFew { what: "pairs".into(), needed: 1, got: 0 })?;
    let ci = signed_mean_interval(&logs, confidence).and_then(|i| Interval::finite(i.low.exp(), i.high.exp()));
    match centre.exp() {
        value if value.is_normal() => Ok(Estimate { value, ci }),
        _ => Err(Error::NotFinite { what: "ratio of the pairs".into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 5] = [10.1, 9.8, 10.3, 9.9, 10.0];
    const B: [f64; 4] = [11.9, 12.4, 12.1, 12.0];

    /// Fieller's defining property: at each limit the t statistic of mean(B) - theta mean(A) is the critical value.
    #[test]
    fn the_bounds_are_where_the_test_turns() {
        let ci = fieller(&A, &B, 0.95).unwrap().ci.unwrap();
        let m = Moments::of(&A, &B, [1.0; 2], Default::default()).unwrap();
        let t = t_two_sided(0.95, m.contrast(m.held_ratio()).1);
        assert_eq!(m.unit, 1.0, "both arms lie between 8 and 16");
        for (theta, sign) in [(ci.low, 1.0), (ci.high, -1.0)] {
            let statistic = (m.mean[1] - theta * m.mean[0]) / m.contrast(theta).0;
            assert!((statistic - sign * t).abs() < 1e-9);
        }
        // The published closed form, term by term.
        let (y, y2, h2, hp2) = (m.mean[0], m.mean[1], t * t * m.se2[0], t * t * m.se2[1]);
        let root = ((y * y2).powi(2) - (y * y - h2) * (y2 * y2 - hp2)).sqrt();
        assert!((ci.low - (y * y2 - root) / (y * y - h2)).abs() < 1e-12);
        assert!((ci.high - (y * y2 + root) / (y * y - h2)).abs() < 1e-12);
    }

    #[test]
    fn pairs_that_all_go_one_way_may_still_be_by_chance() {
        let ci = paired(&[1.0, 1.0], &[1.01, 1.03], 0.95).unwrap().ci.unwrap();
        assert!(ci.contains(1.0), "{ci:?}");
        let mirrored = paired(&[1.01, 1.03], &[1.0, 1.0], 0.95).unwrap().ci.unwrap();
        assert!((ci.low * mirrored.high - 1.0).abs() < 1e-12 && (ci.high * mirrored.low - 1.0).abs() < 1e-12);
    }

    #[test]
    fn no_interval_where_none_exists() {
        assert_eq!(fieller(&[1.0], &[2.0, 3.0], 0.95).unwrap(), Estimate { value: 2.5, ci: None });
        assert_eq!(fieller(&[-5.0, 6.0], &[2.0, 3.0], 0.95).unwrap().ci, None);
        assert!(fieller(&[0.0, 0.0], &[1.0], 0.95).is_err());
        assert!(fieller(&[], &[1.0], 0.95).is_err());
    }

    #[test]
    fn a_ratio_of_positive_values_is_positive_however_they_vary() {
        let (a, b) = ([22.0, 23.0, 24.0], [60.0, 90.0, 1380.0]);
        let ci = fieller(&a, &b, 0.95).unwrap().ci.unwrap();
        let parts = [&a, &b].map(|arm| (variance(arm).unwrap() / 3.0 / mean(arm).unwrap().powi(2), 2.0));
        let (total, df) = quantiles::sum_of_variances(parts);
        let times = (t_two_sided(0.95, df) * total.sqrt()).exp();
        let ends = [(ci.low, 510.0 / 23.0 / times), (ci.high, 510.0 / 23.0 * times)];
        assert!(ends.iter().all(|(end, expected)| (end / expected - 1.0).abs() < 1e-12), "{ci:?}");
        // Fieller's interval is unbounded here.
        let wide = fieller(&b, &a, 0.95).unwrap().ci.unwrap();
        assert!((wide.low * ci.high - 1.0).abs() < 1e-9 && (wide.high * ci.low - 1.0).abs() < 1e-9, "{wide:?}");
        // A zero among times does not make the ratio negative either.
        for (a, b) in [([1.0, 1.1, 0.9], [0.0, 1.0, 0.5]), ([0.0, 1.0, 0.5], [1.0, 1.1, 0.9])] {
            let ci = fieller(&a, &b, 0.95).unwrap().ci.unwrap();
            assert!(ci.low > 0.0 && ci.high.is_finite(), "{ci:?}");
        }
    }

    /// The variance of two trials is pooled with that of four, relative to the means.
    #[test]
    fn the_unit_of_one_side_changes_nothing() {
        let (a, b) = ([1.0, 1.3, 1.1, 1.2], [1.0, 1.001]);
        let of = |unit: f64| fieller(&a, &b.map(|v| v * unit), 0.95).unwrap().ci.unwrap().map(|end| end / unit);
        for unit in [1.3, 1.9, 5.0] {
            let (found, expected) = (of(unit), of(1.0));
            assert!((found.low - expected.low).abs() + (found.high - expected.high).abs() < 1e-12, "{found:?}");
        }
    }

    #[test]
    fn pairs_cancel_what_both_sides_share() {
        let drift: Vec<f64> = (1..=8).map(|i| f64::from(i) * 100.0).collect();
        let faster: Vec<f64> = drift.iter().enumerate().map(|(i, x)| x * (1.05 + 0.001 * (i % 2) as f64)).collect();
        let ci = paired(&drift, &faster, 0.95).unwrap().ci.unwrap();
        assert!(ci.low > 1.049 && ci.high < 1.052, "{ci:?}");
        assert!(paired(&drift, &faster[1..], 0.95).is_err());
        assert!(paired(&[0.0], &[1.0], 0.95).is_err());
    }
}
