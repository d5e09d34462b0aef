//! Faster, slower, equivalent or inconclusive, over a family of metrics.

use super::difference::{Design, Difference};
use super::fieller::{Moments, Tested, estimate};
use super::paired::Paired;
use super::rounding::Rounding;
use crate::blocks::{are_few, upper_tail};
use crate::control::{Arm, LogRatio};
use crate::descriptive::mean;
use crate::error::{Error, valid_confidence};
use crate::interval::Estimate;
use crate::multiple::holm;
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

/// The better direction of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(rename_all = "snake_case"))]
pub enum Better {
    /// More is better (throughput).
    Higher,
    /// Less is better (time, loss, memory).
    Lower,
}

/// The verdict of a comparison, from B's point of view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(rename_all = "snake_case"))]
pub enum Verdict {
    /// B is better by more than the minimum effect.
    Faster,
    /// B is worse by more than the minimum effect.
    Slower,
    /// The difference is smaller than the minimum effect.
    Equivalent,
    /// The trials allow no conclusion.
    Inconclusive,
}

/// One metric of B against A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// The effect of B compared with A, with its interval for this comparison alone (not widened for the number of
    /// comparisons).
    pub effect: Effect,
    /// p-value of the claim that the verdict makes, Holm-adjusted over the family. 1 without an interval.
    pub p_value: f64,
    /// The verdict at the family's confidence level.
    pub verdict: Verdict,
}

/// The effect of B compared with A on one metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Effect {
    /// B / A of means that are both positive.
    Ratio(Estimate),
    /// B - A of means that are not both positive, in the metric's unit.
    Difference(Estimate),
}

impl Effect {
    /// The estimate with its interval.
    pub fn estimate(&self) -> Estimate {
        match self {
            Self::Ratio(found) | Self::Difference(found) => *found,
        }
    }

    /// B / A; `None` when the means are not both positive.
    pub fn ratio(&self) -> Option<Estimate> {
        match self {
            Self::Ratio(found) => Some(*found),
            Self::Difference(_) => None,
        }
    }
}

/// One metric measured in two arms.
#[derive(Debug, Clone, Copy)]
pub struct Arms<'a> {
    /// Trial means of A.
    pub a: &'a [f64],
    /// Trial means of B.
    pub b: &'a [f64],
    /// The better direction of the metric.
    pub better: Better,
    /// The design of the trials.
    pub design: Design<'a>,
    /// What rounding hides of A and of B. `None` if each trial is one sample, which then says it itself.
    pub rounding: Option<[Rounding; 2]>,
}

impl Arms<'_> {
    /// Whether both means are positive, so that their ratio shows which is larger.
    fn has_ratio(&self) -> bool {
        [self.a, self.b].iter().all(|arm| mean(arm).is_some_and(|mean| mean > 0.0))
    }

    fn tested(&self) -> Result<Box<dyn Tested>, Error> {
        let rounding = self.rounding.unwrap_or_else(|| Rounding::of_sides([self.a, self.b]));
        if !self.has_ratio() {
            // A difference is not adjusted by a probe.
            let trials = if let Design::Probed { trials, .. } = self.design { *trials } else { self.design };
            let inflation = match trials {
                Design::Blocks => None,
                Design::Apart(inflation) => Some(inflation),
                Design::Independent | Design::Probed { .. } => Some([1.0; 2]),
            };
            return Ok(Box::new(Difference::of(self.a, self.b, inflation, rounding)?));
        }
        Ok(match self.design {
            Design::Independent => Box::new(Moments::of(self.a, self.b, [1.0; 2], rounding)?),
            Design::Blocks => Box::new(Paired::of(self.a, self.b, rounding)?),
            Design::Apart(inflation) => Box::new(Moments::of(self.a, self.b, inflation, rounding)?),
            Design::Probed { probes, trials } => {
                let [a, b] = [(self.a, probes[0]), (self.b, probes[1])].map(|(metric, probe)| Arm { metric, probe });
                let found = match trials {
                    Design::Blocks => LogRatio::of_blocks(&a, &b)?,
                    Design::Apart(inflation) => LogRatio::of_arms(&a, &b, *inflation)?,
                    Design::Independent | Design::Probed { .. } => LogRatio::of_arms(&a, &b, [1.0; 2])?,
                };
                Box::new(Paired::adjusted(found, [self.a, self.b], rounding))
            }
        })
    }

    /// The effect of B compared with A, with its interval for this comparison alone.
    ///
    /// # Errors
    /// As [`compare`].
    pub fn effect(&self, confidence: f64) -> Result<Effect, Error> {
        self.effect_of(self.tested()?.as_ref(), confidence)
    }

    fn effect_of(&self, tested: &dyn Tested, confidence: f64) -> Result<Effect, Error> {
        let found = estimate(tested, confidence)?;
        Ok(if self.has_ratio() { Effect::Ratio(found) } else { Effect::Difference(found) })
    }

    /// B / A with its interval for this comparison alone.
    ///
    /// # Errors
    /// As [`compare`], and [`Error::NotPositive`] when the means are not both positive.
    pub fn ratio(&self, confidence: f64) -> Result<Estimate, Error> {
        let lower = || [self.a, self.b].iter().filter_map(|arm| mean(arm)).fold(f64::INFINITY, f64::min);
        let none = || Error::NotPositive { what: "means of a ratio".into(), value: lower() };
        self.effect(confidence)?.ratio().ok_or_else(none)
    }
}

/// Compares B with A for a family of metrics or queries; the verdicts are Holm-adjusted over the family.
///
/// `min_effect` is the smallest change of interest as a fraction, e.g. 0.01: ratios from 1 / (1 + e) to 1 + e count as
/// equal. For means that are not both positive, so do differences of that size relative to the magnitude of A. The
/// claim "changed" is tested against the nearer end of that range at the error rate of both sides. "Equivalent" is
/// tested against both ends by two one-sided tests, each at the full error rate (Schuirmann 1987), because only one of
/// the two can be at its limit. With `min_effect` 0 nothing can be equivalent, and without an interval there is no
/// verdict.
///
/// # Errors
/// [`Error::TooFew`] for an empty arm, [`Error::NotFinite`], [`Error::Mismatch`] for unequal numbers of blocks, and
/// [`Error::OutOfRange`] for a negative minimum effect, and for a confidence that is not between 0 and 1.
pub fn compare(family: &[Arms], min_effect: f64, confidence: f64) -> Result<Vec<Comparison>, Error> {
    if !(min_effect >= 0.0 && min_effect.is_finite()) {
        return Err(Error::OutOfRange { what: "minimum effect".into(), expected: "0 or more".into(), got: min_effect });
    }
    valid_confidence(confidence)?;
    let (low, high) = (1.0 / (1.0 + min_effect), 1.0 + min_effect);
    let mut claims = Vec::with_capacity(family.len());
    for arms in family {
        let tested = arms.tested()?;
        let effect = arms.effect_of(tested.as_ref(), confidence)?;
        let few = are_few([arms.a.len(), arms.b.len()]);
        let claimed = match effect.estimate().ci {
            Some(_) => claim(tested.as_ref(), few, (low, high), arms.better),
            None => (1.0, Verdict::Inconclusive),
        };
        claims.push((effect, claimed));
    }
    let adjusted = holm(&claims.iter().map(|(_, (p, _))| *p).collect::<Vec<_>>());
    let settled = claims.into_iter().zip(adjusted);
    Ok(settled
        .map(|((effect, (_, verdict)), p_value)| {
            let verdict = if p_value <= 1.0 - confidence { verdict } else { Verdict::Inconclusive };
            Comparison { effect, p_value, verdict }
        })
        .collect())
}

/// The claim with the strongest support, and its p-value. The claims exclude each other, so whichever is chosen is
/// false with at most that probability. `few` as in [`are_few`].
fn claim(m: &dyn Tested, few: bool, (low, high): (f64, f64), better: Better) -> (f64, Verdict) {
    if !m.replicated() {
        return (1.0, Verdict::Inconclusive);
    }
    let (up, down) = match better {
        Better::Higher => (Verdict::Faster, Verdict::Slower),
        Better::Lower => (Verdict::Slower, Verdict::Faster),
    };
    let p = |theta: f64, way: f64| {
        let (statistic, df) = m.statistic(theta, way);
        upper_tail(statistic, df, few)
    };
    let inside = p(low, 1.0).max(p(high, -1.0));
    let claims = [(2.0 * p(high, 1.0), up), (2.0 * p(low, -1.0), down), (inside, Verdict::Equivalent)];
    claims.into_iter().fold((1.0, Verdict::Inconclusive), |best, c| if c.0 < best.0 { c } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 5] = [10.1, 9.8, 10.3, 9.9, 10.0];
    const B: [f64; 4] = [11.9, 12.4, 12.1, 12.0];

    fn one(a: &[f64], b: &[f64], better: Better, e: f64) -> Verdict {
        compare(&[Arms { a, b, better, design: Design::Independent, rounding: None }], e, 0.95).unwrap()[0].verdict
    }

    #[test]
    fn verdicts_follow_direction_and_minimum_effect() {
        assert_eq!(one(&[1.0], &[2.0], Better::Higher, 0.01), Verdict::Inconclusive);
        assert_eq!(one(&A, &B, Better::Higher, 0.01), Verdict::Faster);
        assert_eq!(one(&A, &B, Better::Lower, 0.01), Verdict::Slower);
        assert_eq!(one(&B, &A, Better::Higher, 0.01), Verdict::Slower);
        assert_eq!(one(&A, &A, Better::Higher, 0.10), Verdict::Equivalent);
        // One-sided at 5%: the 90% interval is inside, the 95% interval need not be.
        let near = fieller_90(&A, &A);
        assert_eq!(one(&A, &A, Better::Higher, near * 1.05), Verdict::Equivalent);
        assert_eq!(one(&A, &A, Better::Higher, near * 0.9), Verdict::Inconclusive);
        assert_eq!(one(&A, &A, Better::Higher, 0.001), Verdict::Inconclusive);
        assert_eq!(one(&A, &B, Better::Higher, 0.20), Verdict::Inconclusive);
        // Without any variance the last digit decides: 1 and 2 may be 1.4 and 1.6.
        assert_eq!(one(&[1.0; 9], &[2.0; 9], Better::Higher, 0.01), Verdict::Inconclusive);
        assert_eq!(one(&[1.0; 9], &[1.0; 9], Better::Higher, 0.01), Verdict::Inconclusive);
        assert_eq!(one(&[1.01; 2], &[2.02; 2], Better::Higher, 0.01), Verdict::Faster);
        assert_eq!(one(&[1.001; 3], &[1.001; 3], Better::Higher, 0.01), Verdict::Equivalent);
        // Two trials are often in one mode by chance: only a difference far beyond their own counts.
        let (modes, three) = ([1.49, 1.51, 1.5], [1.0, 1.01, 1.0]);
        for (a, b) in [(2, 2), (2, 3), (3, 2)].map(|(a, b)| (&three[..a], &modes[..b])) {
            assert_eq!(one(a, b, Better::Higher, 0.01), Verdict::Inconclusive, "{a:?} {b:?}");
        }
        assert_eq!(one(&three, &modes, Better::Higher, 0.01), Verdict::Faster);
        assert_eq!(one(&[1.0, 1.0001], &[2.0, 2.0002], Better::Higher, 0.01), Verdict::Faster);
    }

    /// By how much the further limit of the 90% interval of two equal arms exceeds 1.
    fn fieller_90(a: &[f64], b: &[f64]) -> f64 {
        let ci = crate::ratio::fieller(a, b, 0.90).unwrap().ci.unwrap();
        (ci.high - 1.0).max(1.0 / ci.low - 1.0)
    }

    #[test]
    fn p_is_that_of_a_worked_example_and_the_same_from_either_side() {
        // Student's sleep data (1908) plus 10, by R: t.test(extra ~ group): p = 0.07939.
        let a = [10.7, 8.4, 9.8, 8.8, 9.9, 13.4, 13.7, 10.8, 10.0, 12.0];
        let b = [11.9, 10.8, 11.1, 10.1, 9.9, 14.4, 15.5, 11.6, 14.6, 13.4];
        let of = |a: &[f64], b: &[f64], design, e: f64, confidence: f64| {
            let found =
                compare(&[Arms { a, b, better: Better::Higher, design, rounding: None }], e, confidence).unwrap()[0];
            (found.verdict, found.p_value)
        };
        let (verdict, p) = of(&a, &b, Design::Independent, 0.0, 0.92);
        assert!((p - 0.079_39).abs() < 1e-5, "{p}");
        assert_eq!((verdict, of(&a, &b, Design::Independent, 0.0, 0.93).0), (Verdict::Faster, Verdict::Inconclusive));
        for design in [Design::Independent, Design::Blocks, Design::Apart([1.5, 2.0])] {
            let turned = match design {
                Design::Apart([of_a, of_b]) => Design::Apart([of_b, of_a]),
                same => same,
            };
            for e in [0.0, 0.02, 0.05] {
                let (up, down) = (of(&a, &b, design, e, 0.5), of(&b, &a, turned, e, 0.5));
                assert!((up.1 - down.1).abs() < 1e-9, "{design:?} {e}: {up:?} {down:?}");
                assert_eq!((up.0, down.0), (Verdict::Faster, Verdict::Slower), "{design:?} {e}");
            }
        }
    }

    #[test]
    fn means_that_are_not_both_positive_are_compared_by_their_difference() {
        let scores = |centre: f64| [0.1, -0.1, 0.05, -0.05, 0.0].map(|v| centre + v);
        let (low, high) = (scores(-5.4), scores(-4.2));
        for design in [Design::Independent, Design::Blocks, Design::Apart([1.5; 2])] {
            let found = |a: &[f64], b: &[f64], e: f64| {
                compare(&[Arms { a, b, better: Better::Higher, design, rounding: None }], e, 0.95).unwrap()[0]
            };
            let up = found(&low, &high, 0.05);
            assert_eq!(up.verdict, Verdict::Faster, "{design:?}");
            assert!((up.effect.estimate().value - 1.2).abs() < 1e-12 && up.effect.ratio().is_none(), "{up:?}");
            let ci = up.effect.estimate().ci.unwrap();
            assert!(ci.low < 1.2 + 1e-9 && ci.high > 1.2 - 1e-9, "{ci:?}");
            assert_eq!(found(&high, &low, 0.05).verdict, Verdict::Slower);
            assert_eq!(found(&low, &high, 0.5).verdict, Verdict::Equivalent, "1.2 is less than half of 5.4");
            assert_eq!(found(&scores(-0.5), &scores(1.0), 0.05).verdict, Verdict::Faster);
            assert_eq!(found(&scores(1.0), &scores(-0.5), 0.05).verdict, Verdict::Slower);
            assert_eq!(found(&scores(0.0), &scores(1.0), 0.05).verdict, Verdict::Faster, "from 0 there is no ratio");
        }
    }

    #[test]
    fn a_comparison_without_an_interval_has_no_verdict() {
        // A's mean is above 0, but not significantly.
        let (a, b) = ([-0.9, 1.1, 0.2, -0.3], [9.0, 9.1, 8.9, 9.2]);
        let found = compare(
            &[Arms { a: &a, b: &b, better: Better::Higher, design: Design::Independent, rounding: None }],
            0.01,
            0.95,
        );
        let found = found.unwrap()[0];
        assert_eq!((found.effect.estimate().ci, found.verdict, found.p_value), (None, Verdict::Inconclusive, 1.0));
    }

    #[test]
    fn a_minimum_effect_that_is_negative_or_no_number_is_refused() {
        let arms = Arms { a: &A, b: &B, better: Better::Higher, design: Design::Independent, rounding: None };
        for min_effect in [-0.01, f64::INFINITY, f64::NAN] {
            let found = compare(&[arms], min_effect, 0.95);
            assert!(matches!(found, Err(Error::OutOfRange { .. })), "{min_effect}: {found:?}");
        }
    }

    #[test]
    fn a_family_asks_for_more_than_one_comparison() {
        let (a, b) = ([10.0, 10.2, 9.8, 10.1], [10.3, 10.5, 10.2, 10.6]);
        let arms = Arms { a: &a, b: &b, better: Better::Higher, design: Design::Independent, rounding: None };
        assert_eq!(compare(&[arms], 0.0, 0.95).unwrap()[0].verdict, Verdict::Faster);
        let null = Arms { a: &A, b: &A, better: Better::Higher, design: Design::Independent, rounding: None };
        let family = [vec![arms], vec![null; 20]].concat();
        assert_eq!(compare(&family, 0.0, 0.95).unwrap()[0].verdict, Verdict::Inconclusive);
    }
}
