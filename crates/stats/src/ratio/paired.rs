//! The ratio of two conditions that ran in the same blocks.

use super::fieller::{Squares, Tested, in_errors};
use super::rounding::{self, Rounding};
use crate::control::LogRatio;
use crate::descriptive::{mean, std_dev};
use crate::error::{Error, all_finite};
use crate::interval::Interval;
use crate::quantiles::t_two_sided;
use std::collections::HashMap;

/// ln(B / A) of the means, with its standard error over blocks.
pub(super) struct Paired {
    log_ratio: f64,
    /// Its ends, as far as rounding may have moved the means; equal to it where that is nothing.
    ends: [f64; 2],
    se: f64,
    df: f64,
    /// Those of Fieller's method, of A and B each divided by its mean.
    squares: Option<Squares>,
}

impl Paired {
    /// For trials paired by position. The ratio is that of the means; its standard error is that of b_j / mean(B) - a_j
    /// / mean(A) over the blocks (the delta method), which cancels block effects on both sides. A few trials in a far
    /// mode raise the mean of a side and lower this error, so the contrast of Fieller's method has to show a difference
    /// too, and an interval has the limits of whichever method reaches further.
    pub fn of(a: &[f64], b: &[f64], rounding: [Rounding; 2]) -> Result<Self, Error> {
        if a.len() != b.len() {
            return Err(Error::Mismatch { what: "blocks of B".into(), expected: a.len(), got: b.len() });
        }
        all_finite("trial means", a)?;
        all_finite("trial means", b)?;
        let centre = |arm: &str, values: &[f64]| {
            let centre = mean(values).ok_or(Error::TooFew { what: format!("trials of {arm}"), needed: 1, got: 0 })?;
            let what = || format!("mean of {arm}");
            if centre > 0.0 { Ok(centre) } else { Err(Error::NotPositive { what: what(), value: centre }) }
        };
        let means = [centre("A", a)?, centre("B", b)?];
        let [of_a, of_b] = means;
        let [a, b] = [(a, of_a), (b, of_b)].map(|(arm, mean)| arm.iter().map(|v| v / mean).collect::<Vec<f64>>());
        let n = a.len() as f64;
        let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
        let se = std_dev(&differences).map_or(f64::NAN, |sd| sd / n.sqrt());
        let log_ratio = of_b.ln() - of_a.ln();
        if !log_ratio.exp().is_normal() {
            return Err(Error::NotFinite { what: "ratio of the means".into() });
        }
        let product =
            |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - 1.0) * (b - 1.0)).sum::<f64>() / (n * (n - 1.0));
        let squares = Squares { a: product(&a, &a), b: product(&b, &b), both: product(&a, &b) };
        let least = [0, 1].map(|side| rounding[side].variance(means[side]) / n);
        let ends = rounding::ends(rounding, means, log_ratio);
        // `NaN`, with a single block, stays.
        Ok(match se * se < least[0] + least[1] {
            false => Self { log_ratio, ends, se, df: n - 1.0, squares: Some(squares) },
            true => {
                let squares = Squares { a: least[0], b: least[1], both: 0.0 };
                let se = (least[0] + least[1]).sqrt();
                Self { log_ratio, ends, se, df: n - 1.0, squares: Some(squares) }
            }
        })
    }

    /// Adjusted by a probe, from these means of A and B.
    pub fn adjusted(found: LogRatio, [a, b]: [&[f64]; 2], rounding: [Rounding; 2]) -> Self {
        let means = [a, b].map(|arm| mean(arm).unwrap_or(f64::NAN));
        let least: f64 =
            [a, b].iter().zip(rounding).zip(means).map(|((arm, of), mean)| of.variance(mean) / arm.len() as f64).sum();
        let ends = rounding::ends(rounding, means, found.value);
        Self { log_ratio: found.value, ends, se: found.se.max(least.sqrt()), df: found.df, squares: None }
    }

    /// The difference from `theta`, at the end that is nearer to it in this direction, in standard errors.
    fn in_errors(&self, theta: f64, way: f64) -> f64 {
        let difference = (if way > 0.0 { self.ends[0] } else { self.ends[1] }) - theta.ln();
        // Differences below rounding error count as 0.
        if difference.abs() < 1e-14 {
            return 0.0;
        }
        let found = in_errors(difference, self.se);
        let times = (-difference).exp();
        let by_fieller =
            self.squares.as_ref().map_or(found, |squares| in_errors(1.0 - times, squares.of(times).sqrt()));
        if found.abs() <= by_fieller.abs() { found } else { by_fieller }
    }
}

impl Tested for Paired {
    fn value(&self) -> f64 {
        self.log_ratio.exp()
    }

    fn replicated(&self) -> bool {
        self.df >= 1.0 && self.se.is_finite()
    }

    fn interval(&self, confidence: f64) -> Option<Interval> {
        if !self.replicated() {
            return None;
        }
        let t = t_two_sided(confidence, self.df);
        let moved = self.ends.map(f64::exp);
        let ends = [(self.ends[0] - t * self.se).exp(), (self.ends[1] + t * self.se).exp()];
        // In multiples of the measured ratio; absent if they are unbounded or reach 0.
        let times = self.squares.as_ref().and_then(|squares| squares.interval(1.0, t)).filter(|times| times.low > 0.0);
        let [low, high] = times.map_or(ends, |times| [moved[0] * times.low, moved[1] * times.high]);
        Interval::finite(low.min(ends[0]), high.max(ends[1]))
    }

    fn statistic(&self, theta: f64, way: f64) -> (f64, f64) {
        (way * self.in_errors(theta, way), self.df)
    }
}

/// The values of two conditions in the blocks that both have, in the same order; each input is (block, trial mean).
/// `None` when they share fewer than two blocks, or when more than a third of either side would be left out.
pub fn by_block(a: &[(usize, f64)], b: &[(usize, f64)]) -> Option<(Vec<f64>, Vec<f64>)> {
    // If a block has two trials, the first one counts.
    let of_b: HashMap<usize, f64> = b.iter().rev().copied().collect();
    let pairs: Vec<(f64, f64)> = a.iter().filter_map(|(block, v)| Some((*v, *of_b.get(block)?))).collect();
    let most = a.len().max(b.len());
    (pairs.len() >= 2 && 3 * pairs.len() >= 2 * most).then(|| pairs.into_iter().unzip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_differences_and_its_ends_are_where_the_test_turns() {
        let (a, b) = ([100.0, 110.0, 90.0, 120.0], [103.0, 112.0, 93.0, 122.0]);
        let found = Paired::of(&a, &b, Default::default()).unwrap();
        assert!((found.value() - 430.0 / 420.0).abs() < 1e-12);
        let ci = found.interval(0.95).unwrap();
        let ends = [found.statistic(ci.low, 1.0), found.statistic(ci.high, -1.0)];
        assert!(ends.iter().all(|(t, df)| (t - t_two_sided(0.95, 3.0)).abs() < 1e-9 && *df == 3.0), "{ends:?}");
        assert!(ci.width() < 0.03, "drift of 14% between blocks is gone: {ci:?}");
    }

    /// Of two sides of which three trials of ten are in a mode of three times the throughput, one has three of its five
    /// there and the other none in 4% of comparisons. The t-test of the differences has p = 0.07; the relative error of
    /// the larger mean alone would give 0.02.
    #[test]
    fn trials_of_one_side_in_a_far_mode_are_no_difference() {
        let (low, some) = ([100.0, 101.0, 99.0, 100.0, 100.0], [100.0, 300.0, 300.0, 99.0, 301.0]);
        for (a, b, way) in [(&low, &some, 1.0), (&some, &low, -1.0)] {
            let found = Paired::of(a, b, Default::default()).unwrap();
            let limit = t_two_sided(0.95, 4.0);
            assert!(found.statistic(1.0, way).0 < limit);
            assert!(found.interval(0.95).unwrap().contains(1.0));
            assert!((found.log_ratio / found.se).abs() > limit, "the relative error alone");
        }
    }

    #[test]
    fn blocks_are_matched_by_number_or_not_at_all() {
        let a = [(0, 1.0), (1, 2.0), (2, 3.0)];
        assert_eq!(
            by_block(&a, &[(2, 30.0), (0, 10.0), (1, 20.0)]),
            Some((vec![1.0, 2.0, 3.0], vec![10.0, 20.0, 30.0]))
        );
        assert_eq!(by_block(&a, &[(2, 30.0), (5, 10.0), (6, 20.0)]), None);
        // A third of a side may be left out, and no more.
        assert_eq!(by_block(&a, &[(2, 30.0), (0, 10.0)]), Some((vec![1.0, 3.0], vec![10.0, 30.0])));
        assert_eq!(by_block(&a, &[(2, 30.0), (0, 10.0), (5, 1.0), (6, 1.0)]), None);
    }

    /// With one side constant, Fieller's lower limit is that of the other side's mean, and reaches further than the
    /// delta method's.
    #[test]
    fn the_interval_reaches_as_far_as_either_method() {
        let found = Paired::of(&[100.0; 4], &[103.0, 112.0, 93.0, 122.0], Default::default()).unwrap();
        let ci = found.interval(0.95).unwrap();
        let half = t_two_sided(0.95, 3.0) * found.se;
        assert!((ci.low - found.value() * (1.0 - half)).abs() < 1e-12, "{ci:?}");
        assert!((ci.high - found.value() * half.exp()).abs() < 1e-12, "{ci:?}");
    }
}
