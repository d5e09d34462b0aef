//! Faster, slower, equivalent or inconclusive, over a family of metrics.

use super::fieller::{Moments, Tested, estimate};
use super::paired::Paired;
use crate::control::{Arm, LogRatio};
use crate::error::{Error, valid_confidence};
use crate::interval::Estimate;
use crate::multiple::holm;
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

/// Which direction of a metric is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(rename_all = "snake_case"))]
pub enum Better {
    /// More is better (throughput).
    Higher,
    /// Less is better (time, loss, memory).
    Lower,
}

/// What a comparison came to, from B's point of view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(rename_all = "snake_case"))]
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
    /// How the two came about.
    pub design: Design<'a>,
}

/// How the trials of two arms came about, which says what they share.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Design<'a> {
    /// Nothing in common, and no order known.
    #[default]
    Independent,
    /// Trial i of A and trial i of B ran in the same block: what the block did to both is taken out.
    Blocks,
    /// Two runs, one after the other. The variance of each arm's mean is this much larger than its spread says, for the
    /// trials of a run resemble each other; see [`crate::serial::RunOrder::inflation`].
    Apart([f64; 2]),
    /// A probe stood alongside each trial, and what it explains is taken out: see [`crate::control`].
    Probed {
        /// Of A and of B, one for each trial.
        probes: [&'a [f64]; 2],
        /// What they share besides.
        trials: &'a Design<'a>,
    },
}

impl Arms<'_> {
    fn tested(&self) -> Result<Box<dyn Tested>, Error> {
        Ok(match self.design {
            Design::Independent => Box::new(Moments::of(self.a, self.b, [1.0; 2])?),
            Design::Blocks => Box::new(Paired::of(self.a, self.b)?),
            Design::Apart(inflation) => Box::new(Moments::of(self.a, self.b, inflation)?),
            Design::Probed { probes, trials } => {
                let [a, b] = [(self.a, probes[0]), (self.b, probes[1])].map(|(metric, probe)| Arm { metric, probe });
                Box::new(Paired::from(match trials {
                    Design::Blocks => LogRatio::of_blocks(&a, &b)?,
                    Design::Apart(inflation) => LogRatio::of_arms(&a, &b, *inflation)?,
                    Design::Independent | Design::Probed { .. } => LogRatio::of_arms(&a, &b, [1.0; 2])?,
                }))
            }
        })
    }

    /// B / A with its interval for this comparison alone.
    ///
    /// # Errors
    /// As [`compare`].
    pub fn ratio(&self, confidence: f64) -> Result<Estimate, Error> {
        estimate(self.tested()?.as_ref(), confidence)
    }
}

/// B against A for a family of metrics or queries, verdicts Holm-adjusted over the family.
///
/// `min_effect` is the smallest change of interest as a fraction, e.g. 0.01: ratios from 1 / (1 + e) to 1 + e count as
/// equal. The claim "changed" is tested against the nearer end of that range at both sides' error rate, "equivalent"
/// against both ends by two one-sided tests, each at the full error rate (Schuirmann 1987), for only one of the two can
/// be at its limit. With `min_effect` 0 nothing can be equivalent.
///
/// # Errors
/// As [`super::fieller()`], and [`Error::OutOfRange`] for a negative minimum effect.
pub fn compare(family: &[Arms], min_effect: f64, confidence: f64) -> Result<Vec<Comparison>, Error> {
    if !(min_effect >= 0.0 && min_effect.is_finite()) {
        return Err(Error::OutOfRange { what: "minimum effect".into(), expected: "0 or more".into(), got: min_effect });
    }
    valid_confidence(confidence)?;
    let (low, high) = (1.0 / (1.0 + min_effect), 1.0 + min_effect);
    let mut claims = Vec::with_capacity(family.len());
    for arms in family {
        let tested = arms.tested()?;
        claims.push((estimate(tested.as_ref(), confidence)?, claim(tested.as_ref(), low, high, arms.better)));
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

/// The claim that the data support best and its p-value. The claims exclude each other, so whichever is chosen is false
/// with at most that probability.
fn claim(m: &dyn Tested, low: f64, high: f64, better: Better) -> (f64, Verdict) {
    if !m.replicated() {
        return (1.0, Verdict::Inconclusive);
    }
    let (up, down) = match better {
        Better::Higher => (Verdict::Faster, Verdict::Slower),
        Better::Lower => (Verdict::Slower, Verdict::Faster),
    };
    let above = 2.0 * m.p_above(high);
    let below = 2.0 * m.p_below(low);
    let inside = m.p_above(low).max(m.p_below(high));
    let claims = [(above, up), (below, down), (inside, Verdict::Equivalent)];
    claims.into_iter().fold((1.0, Verdict::Inconclusive), |best, c| if c.0 < best.0 { c } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 5] = [10.1, 9.8, 10.3, 9.9, 10.0];
    const B: [f64; 4] = [11.9, 12.4, 12.1, 12.0];

    fn one(a: &[f64], b: &[f64], better: Better, e: f64) -> Verdict {
        compare(&[Arms { a, b, better, design: Design::Independent }], e, 0.95).unwrap()[0].verdict
    }

    #[test]
    fn verdicts_follow_direction_and_minimum_effect() {
        assert_eq!(one(&[1.0], &[2.0], Better::Higher, 0.01), Verdict::Inconclusive);
        assert_eq!(one(&A, &B, Better::Higher, 0.01), Verdict::Faster);
        assert_eq!(one(&A, &B, Better::Lower, 0.01), Verdict::Slower);
        assert_eq!(one(&B, &A, Better::Higher, 0.01), Verdict::Slower);
        assert_eq!(one(&A, &A, Better::Higher, 0.10), Verdict::Equivalent);
        // One-sided at 5%: the 90% interval lies inside, the 95% interval need not.
        let near = fieller_90(&A, &A);
        assert_eq!(one(&A, &A, Better::Higher, near * 1.05), Verdict::Equivalent);
        assert_eq!(one(&A, &A, Better::Higher, near * 0.9), Verdict::Inconclusive);
        assert_eq!(one(&A, &A, Better::Higher, 0.001), Verdict::Inconclusive);
        assert_eq!(one(&A, &B, Better::Higher, 0.20), Verdict::Inconclusive);
        // No spread at all: the figures speak for themselves.
        assert_eq!(one(&[1.0, 1.0], &[2.0, 2.0], Better::Higher, 0.01), Verdict::Faster);
        assert_eq!(one(&[1.0, 1.0], &[1.0, 1.0], Better::Higher, 0.01), Verdict::Equivalent);
    }

    /// By how much the wider end of the 90% interval of two equal arms exceeds 1.
    fn fieller_90(a: &[f64], b: &[f64]) -> f64 {
        let ci = crate::ratio::fieller(a, b, 0.90).unwrap().ci.unwrap();
        (ci.high - 1.0).max(1.0 / ci.low - 1.0)
    }

    #[test]
    fn a_family_asks_for_more_than_one_comparison() {
        let (a, b) = ([10.0, 10.2, 9.8, 10.1], [10.3, 10.5, 10.2, 10.6]);
        let arms = Arms { a: &a, b: &b, better: Better::Higher, design: Design::Independent };
        assert_eq!(compare(&[arms], 0.0, 0.95).unwrap()[0].verdict, Verdict::Faster);
        let null = Arms { a: &A, b: &A, better: Better::Higher, design: Design::Independent };
        let family = [vec![arms], vec![null; 20]].concat();
        assert_eq!(compare(&family, 0.0, 0.95).unwrap()[0].verdict, Verdict::Inconclusive);
    }
}
