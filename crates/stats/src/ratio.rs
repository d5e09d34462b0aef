//! Is B faster than A: the ratio of two means with its interval, and a verdict against a minimum effect of interest.
//!
//! Arguments are trial means (see [`crate::trials::trial_means`]); ratios are B / A.

use crate::descriptive::{mean, variance};
use crate::error::{Error, all_finite, all_positive, valid_confidence};
use crate::interval::{Estimate, Interval};
use crate::quantiles::{t_two_sided, t_upper_tail};
use crate::trials::mean_interval;

/// Which direction of a metric is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Throughput.
    Higher,
    /// Time.
    Lower,
}

/// What a comparison came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// B is better by more than the minimum effect.
    Faster,
    /// B is worse by more than the minimum effect.
    Slower,
    /// The difference is smaller than the minimum effect.
    Equivalent,
    /// The trials do not tell.
    Inconclusive,
}

/// One metric of B against A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// B / A with its interval for this comparison alone (not widened for the number of comparisons).
    pub ratio: Estimate,
    /// p-value of the claim that the verdict makes, Holm-adjusted over the family. 1 where no interval exists.
    pub p_value: f64,
    /// The verdict at the family's confidence level.
    pub verdict: Verdict,
}

/// One metric measured in two arms.
#[derive(Debug, Clone, Copy)]
pub struct Arms<'a> {
    /// Trial means of A.
    pub a: &'a [f64],
    /// Trial means of B.
    pub b: &'a [f64],
    /// The metric's better direction.
    pub better: Better,
}

/// Means, their squared standard errors and the degrees of freedom of an arm.
struct Moments {
    mean: [f64; 2],
    se2: [f64; 2],
    df: [f64; 2],
}

impl Moments {
    fn of(a: &[f64], b: &[f64]) -> Result<Self, Error> {
        let few = |arm: &str| Error::TooFew { what: format!("trials of {arm}"), needed: 1, got: 0 };
        all_finite("trial means", a)?;
        all_finite("trial means", b)?;
        // In units of the largest value: squares neither overflow nor vanish whatever the metric's unit.
        let largest = a.iter().chain(b).fold(0.0f64, |m, v| m.max(v.abs()));
        let unit = if largest > 0.0 { largest } else { 1.0 };
        let [a, b] = [a, b].map(|x| x.iter().map(|v| v / unit).collect::<Vec<f64>>());
        let mean = [mean(&a).ok_or_else(|| few("A"))?, mean(&b).ok_or_else(|| few("B"))?];
        if mean[0] == 0.0 {
            return Err(Error::NotPositive { what: "magnitude of the mean of A".into(), value: 0.0 });
        }
        let se2 = [&a, &b].map(|x| variance(x).map_or(f64::NAN, |v| v / x.len() as f64));
        Ok(Self { mean, se2, df: [&a, &b].map(|x| x.len() as f64 - 1.0) })
    }

    fn ratio(&self) -> f64 {
        self.mean[1] / self.mean[0]
    }

    /// Both arms have a variance.
    fn replicated(&self) -> bool {
        self.df.iter().all(|df| *df >= 1.0)
    }

    /// Standard error and Welch-Satterthwaite degrees of freedom of mean(B) - theta mean(A).
    fn contrast(&self, theta: f64) -> (f64, f64) {
        let parts = [theta * theta * self.se2[0], self.se2[1]];
        let total = parts[0] + parts[1];
        let df = total * total / (parts[0].powi(2) / self.df[0] + parts[1].powi(2) / self.df[1]);
        (total.sqrt(), if df.is_finite() { df } else { self.df[0] + self.df[1] })
    }

    /// P(T > t) for the hypothesis ratio = theta against a larger ratio.
    fn p_above(&self, theta: f64) -> f64 {
        let (se, df) = self.contrast(theta);
        let difference = (self.mean[1] - theta * self.mean[0]) * self.mean[0].signum();
        if se == 0.0 {
            return if difference > 0.0 { 0.0 } else { 1.0 };
        }
        t_upper_tail(difference / se, df)
    }

    /// P(T < t) for the hypothesis ratio = theta against a smaller ratio.
    fn p_below(&self, theta: f64) -> f64 {
        let (se, df) = self.contrast(theta);
        let difference = (self.mean[1] - theta * self.mean[0]) * self.mean[0].signum();
        if se == 0.0 {
            return if difference < 0.0 { 0.0 } else { 1.0 };
        }
        t_upper_tail(-difference / se, df)
    }
}

/// Ratio of the means of B and A with Fieller's interval: all theta for which mean(B) - theta mean(A) is not
/// significantly different from 0, [Y Y' +- sqrt((Y Y')^2 - (Y^2 - h^2)(Y'^2 - h'^2))] / (Y^2 - h^2) with h^2 = t^2 S^2 /
/// n of each arm. Kalibera & Jones take t from each arm's own n - 1, which overcovers (98% with 3 trials an arm); here
/// both arms share the t of the Welch-Satterthwaite degrees of freedom at the point estimate. The interval is absent
/// when an arm has a single trial or A's mean is not significantly different from 0.
///
/// # Errors
/// [`Error::TooFew`] for an empty arm, [`Error::NotFinite`], and [`Error::NotPositive`] when A's mean is 0.
pub fn fieller(a: &[f64], b: &[f64], confidence: f64) -> Result<Estimate, Error> {
    valid_confidence(confidence)?;
    let m = Moments::of(a, b)?;
    if !m.ratio().is_finite() {
        return Err(Error::NotFinite { what: "ratio of the means".into() });
    }
    Ok(Estimate { value: m.ratio(), ci: fieller_interval(&m, confidence) })
}

fn fieller_interval(m: &Moments, confidence: f64) -> Option<Interval> {
    if !m.replicated() {
        return None;
    }
    let t2 = t_two_sided(confidence, m.contrast(m.ratio()).1).powi(2);
    // In units of A's mean, so that neither overflow nor underflow depends on the metric's unit.
    let g = t2 * (m.se2[0].sqrt() / m.mean[0]).powi(2);
    let g_b = t2 * (m.se2[1].sqrt() / m.mean[0]).powi(2);
    let r = m.ratio();
    if g.is_nan() || g >= 1.0 {
        return None;
    }
    let root = (r * r * g + g_b - g * g_b).max(0.0).sqrt();
    Interval::finite((r - root) / (1.0 - g), (r + root) / (1.0 - g))
}

/// Ratio of pairs run side by side or one after the other: exp of the mean of ln(B_j / A_j) with its t interval. It is
/// the ratio of geometric means, free of whatever both sides of a pair share.
///
/// # Errors
/// [`Error::Mismatch`] for arms of different length, [`Error::TooFew`] without pairs, [`Error::NotPositive`] for values
/// that are not.
pub fn paired(a: &[f64], b: &[f64], confidence: f64) -> Result<Estimate, Error> {
    valid_confidence(confidence)?;
    if a.len() != b.len() {
        return Err(Error::Mismatch { what: "trials of B, one for each of A".into(), expected: a.len(), got: b.len() });
    }
    all_positive("trial means of A", a)?;
    all_positive("trial means of B", b)?;
    let logs: Vec<f64> = a.iter().zip(b).map(|(a, b)| b.ln() - a.ln()).collect();
    let centre = mean(&logs).ok_or(Error::TooFew { what: "pairs".into(), needed: 1, got: 0 })?;
    let ci = mean_interval(&logs, confidence).and_then(|i| Interval::finite(i.low.exp(), i.high.exp()));
    Ok(Estimate { value: centre.exp(), ci })
}

/// Holm's step-down adjustment of p-values ("A simple sequentially rejective multiple test procedure", 1979): the k-th
/// smallest of m is multiplied by m - k + 1, made monotone, capped at 1. In the order given.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&i, &j| p_values[i].total_cmp(&p_values[j]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest = 0.0f64;
    for (rank, &i) in order.iter().enumerate() {
        largest = largest.max(p_values[i] * (p_values.len() - rank) as f64).min(1.0);
        adjusted[i] = largest;
    }
    adjusted
}

/// B against A for a family of metrics or queries, verdicts Holm-adjusted over the family.
///
/// `min_effect` is the smallest change of interest as a fraction, e.g. 0.01: ratios from 1 / (1 + e) to 1 + e count as
/// equal. The claim "changed" is tested against the nearer end of that range, "equivalent" against both ends (two
/// one-sided tests); a single comparison is changed exactly when its interval lies outside the range, equivalent when
/// inside, up to the t quantile. With `min_effect` 0 nothing can be equivalent.
///
/// # Errors
/// As [`fieller`], and [`Error::OutOfRange`] for a negative minimum effect.
pub fn compare(family: &[Arms], min_effect: f64, confidence: f64) -> Result<Vec<Comparison>, Error> {
    if !(min_effect >= 0.0 && min_effect.is_finite()) {
        return Err(Error::OutOfRange { what: "minimum effect".into(), expected: "0 or more".into(), got: min_effect });
    }
    let (low, high) = (1.0 / (1.0 + min_effect), 1.0 + min_effect);
    let mut claims = Vec::with_capacity(family.len());
    for arms in family {
        let ratio = fieller(arms.a, arms.b, confidence)?;
        claims.push((ratio, claim(&Moments::of(arms.a, arms.b)?, low, high, arms.better)));
    }
    let adjusted = holm(&claims.iter().map(|(_, (p, _))| *p).collect::<Vec<_>>());
    let settled = claims.into_iter().zip(adjusted);
    Ok(settled
        .map(|((ratio, (_, verdict)), p_value)| {
            let verdict = if p_value <= 1.0 - confidence { verdict } else { Verdict::Inconclusive };
            Comparison { ratio, p_value, verdict }
        })
        .collect())
}

/// The claim that the data support best and its two-sided p-value. The claims exclude each other, so whichever is
/// chosen is false with at most that probability.
fn claim(m: &Moments, low: f64, high: f64, better: Better) -> (f64, Verdict) {
    if !m.replicated() {
        return (1.0, Verdict::Inconclusive);
    }
    let (up, down) = match better {
        Better::Higher => (Verdict::Faster, Verdict::Slower),
        Better::Lower => (Verdict::Slower, Verdict::Faster),
    };
    let above = 2.0 * m.p_above(high);
    let below = 2.0 * m.p_below(low);
    let inside = 2.0 * m.p_above(low).max(m.p_below(high));
    let claims = [(above, up), (below, down), (inside, Verdict::Equivalent)];
    claims.into_iter().fold((1.0, Verdict::Inconclusive), |best, c| if c.0 < best.0 { c } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 5] = [10.1, 9.8, 10.3, 9.9, 10.0];
    const B: [f64; 4] = [11.9, 12.4, 12.1, 12.0];

    fn one(a: &[f64], b: &[f64], better: Better, e: f64) -> Verdict {
        compare(&[Arms { a, b, better }], e, 0.95).unwrap()[0].verdict
    }

    /// Fieller's defining property: at each bound the t statistic of mean(B) - theta mean(A) is the critical value.
    #[test]
    fn the_bounds_are_where_the_test_turns() {
        let ci = fieller(&A, &B, 0.95).unwrap().ci.unwrap();
        let m = Moments::of(&A, &B).unwrap();
        let t = t_two_sided(0.95, m.contrast(m.ratio()).1);
        for (theta, sign) in [(ci.low, 1.0), (ci.high, -1.0)] {
            let statistic = (m.mean[1] - theta * m.mean[0]) / m.contrast(theta).0;
            assert!((statistic - sign * t).abs() < 1e-9);
        }
        // The reference's closed form, term by term.
        let (y, y2, h2, hp2) = (m.mean[0], m.mean[1], t * t * m.se2[0], t * t * m.se2[1]);
        let root = ((y * y2).powi(2) - (y * y - h2) * (y2 * y2 - hp2)).sqrt();
        assert!((ci.low - (y * y2 - root) / (y * y - h2)).abs() < 1e-12);
        assert!((ci.high - (y * y2 + root) / (y * y - h2)).abs() < 1e-12);
    }

    #[test]
    fn no_interval_where_none_exists() {
        assert_eq!(fieller(&[1.0], &[2.0, 3.0], 0.95).unwrap(), Estimate { value: 2.5, ci: None });
        assert_eq!(fieller(&[-5.0, 6.0], &[2.0, 3.0], 0.95).unwrap().ci, None);
        assert!(fieller(&[0.0, 0.0], &[1.0], 0.95).is_err());
        assert!(fieller(&[], &[1.0], 0.95).is_err());
        assert_eq!(one(&[1.0], &[2.0], Better::Higher, 0.01), Verdict::Inconclusive);
    }

    #[test]
    fn verdicts_follow_direction_and_minimum_effect() {
        assert_eq!(one(&A, &B, Better::Higher, 0.01), Verdict::Faster);
        assert_eq!(one(&A, &B, Better::Lower, 0.01), Verdict::Slower);
        assert_eq!(one(&B, &A, Better::Higher, 0.01), Verdict::Slower);
        assert_eq!(one(&A, &A, Better::Higher, 0.10), Verdict::Equivalent);
        assert_eq!(one(&A, &A, Better::Higher, 0.001), Verdict::Inconclusive);
        assert_eq!(one(&A, &B, Better::Higher, 0.20), Verdict::Inconclusive);
        // No spread at all: the figures speak for themselves.
        assert_eq!(one(&[1.0, 1.0], &[2.0, 2.0], Better::Higher, 0.01), Verdict::Faster);
        assert_eq!(one(&[1.0, 1.0], &[1.0, 1.0], Better::Higher, 0.01), Verdict::Equivalent);
    }

    #[test]
    fn holm_on_a_worked_example() {
        // 0.01, 0.02, 0.03, 0.04 x 4, 3, 2, 1 made monotone.
        let adjusted = holm(&[0.03, 0.01, 0.04, 0.02]);
        for (got, expected) in adjusted.iter().zip([0.06, 0.04, 0.06, 0.06]) {
            assert!((got - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[0.9, 0.9]), [1.0, 1.0]);
    }

    #[test]
    fn a_family_asks_for_more_than_one_comparison() {
        let (a, b) = ([10.0, 10.2, 9.8, 10.1], [10.3, 10.5, 10.2, 10.6]);
        let arms = Arms { a: &a, b: &b, better: Better::Higher };
        assert_eq!(compare(&[arms], 0.0, 0.95).unwrap()[0].verdict, Verdict::Faster);
        let null = Arms { a: &A, b: &A, better: Better::Higher };
        let family = [vec![arms], vec![null; 20]].concat();
        assert_eq!(compare(&family, 0.0, 0.95).unwrap()[0].verdict, Verdict::Inconclusive);
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
