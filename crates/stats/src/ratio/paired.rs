//! The ratio of two conditions that ran in the same blocks.

use super::fieller::Tested;
use crate::control::LogRatio;
use crate::descriptive::{mean, std_dev};
use crate::error::{Error, all_finite};
use crate::interval::Interval;
use crate::quantiles::t_two_sided;
use std::collections::HashMap;

/// ln(B / A) of the means, with its standard error over blocks.
pub(super) struct Paired {
    log_ratio: f64,
    se: f64,
    df: f64,
}

impl Paired {
    /// For trials paired by position. The ratio is that of the means; its standard error is that of b_j / mean(B) - a_j
    /// / mean(A) over the blocks (the delta method), which cancels block effects on both sides.
    pub fn of(a: &[f64], b: &[f64]) -> Result<Self, Error> {
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
        let (of_a, of_b) = (centre("A", a)?, centre("B", b)?);
        let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b / of_b - a / of_a).collect();
        let se = std_dev(&differences).map_or(f64::NAN, |sd| sd / (a.len() as f64).sqrt());
        let log_ratio = of_b.ln() - of_a.ln();
        if !log_ratio.exp().is_normal() {
            return Err(Error::NotFinite { what: "ratio of the means".into() });
        }
        Ok(Self { log_ratio, se, df: a.len() as f64 - 1.0 })
    }

    fn in_errors(&self, theta: f64) -> f64 {
        let difference = self.log_ratio - theta.ln();
        // Differences below rounding error count as 0.
        match difference {
            d if d.abs() < 1e-14 => 0.0,
            d if self.se > 0.0 => d / self.se,
            d => d.signum() * f64::INFINITY,
        }
    }
}

impl From<LogRatio> for Paired {
    fn from(found: LogRatio) -> Self {
        Self { log_ratio: found.value, se: found.se, df: found.df }
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
        let half = t_two_sided(confidence, self.df) * self.se;
        Interval::finite((self.log_ratio - half).exp(), (self.log_ratio + half).exp())
    }

    fn statistic(&self, theta: f64, way: f64) -> (f64, f64) {
        (way * self.in_errors(theta), self.df)
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
        let found = Paired::of(&a, &b).unwrap();
        assert!((found.value() - 430.0 / 420.0).abs() < 1e-12);
        let ci = found.interval(0.95).unwrap();
        let ends = [found.statistic(ci.low, 1.0), found.statistic(ci.high, -1.0)];
        assert!(ends.iter().all(|(t, df)| (t - t_two_sided(0.95, 3.0)).abs() < 1e-9 && *df == 3.0), "{ends:?}");
        assert!(ci.width() < 0.03, "drift of 14% between blocks is gone: {ci:?}");
    }

    #[test]
    fn blocks_are_matched_by_number_or_not_at_all() {
        let a = [(0, 1.0), (1, 2.0), (2, 3.0)];
        assert_eq!(
            by_block(&a, &[(2, 30.0), (0, 10.0), (1, 20.0)]),
            Some((vec![1.0, 2.0, 3.0], vec![10.0, 20.0, 30.0]))
        );
        assert_eq!(by_block(&a, &[(2, 30.0), (5, 10.0), (6, 20.0)]), None);
    }
}
