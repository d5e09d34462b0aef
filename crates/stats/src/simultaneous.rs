//! Which conditions are the best and the worst, and which of the others cannot be told from them: all pairs at once.

use crate::descriptive::{mean, std_dev};
use crate::interval::Interval;
use crate::ratio::by_block;
use crate::studentized::{critical, upper_tail};

/// One condition: its trials as (block, value). Logarithms make differences ratios.
pub type Condition = Vec<(usize, f64)>;

/// The conditions in order, with what is shown of the ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// Indexes of the conditions, the smallest mean first.
    pub order: Vec<usize>,
    /// Difference of the largest and the smallest mean with an interval that holds for all pairs together.
    pub difference: f64,
    /// Its interval; absent where a condition has a single trial.
    pub ci: Option<Interval>,
    /// Chance of such a difference between any two of as many equal conditions.
    pub p_value: f64,
    /// Conditions that cannot be told from the one with the smallest mean, itself included.
    pub lowest: Vec<usize>,
    /// Conditions that cannot be told from the one with the largest mean, itself included.
    pub highest: Vec<usize>,
}

/// Orders conditions by their means and says which ends are shown, at `confidence` over all pairs together. Pairs that
/// ran in the same blocks are compared block by block with the standard error of their own differences, others by
/// Welch's; both against the studentized range (Games & Howell, "Pairwise multiple comparison procedures with unequal
/// n's and/or variances", Journal of Educational Statistics 1, 1976). `None` below two conditions with trials.
pub fn rank(conditions: &[Condition], confidence: f64, blocks: bool) -> Option<Ranking> {
    // Logarithms are near 1; whatever else is given is taken in units of its largest, so that no square overflows.
    let largest = conditions.iter().flatten().fold(0.0f64, |largest, (_, v)| largest.max(v.abs()));
    if (1e-9..1e9).contains(&largest) || !largest.is_normal() {
        return rank_in_unit(conditions, confidence, blocks);
    }
    let in_unit = |condition: &Condition| condition.iter().map(|(block, v)| (*block, v / largest)).collect();
    let found = rank_in_unit(&conditions.iter().map(in_unit).collect::<Vec<_>>(), confidence, blocks)?;
    let ci = found.ci.and_then(|ci| Interval::finite(ci.low * largest, ci.high * largest));
    Some(Ranking { difference: found.difference * largest, ci, ..found })
}

fn rank_in_unit(conditions: &[Condition], confidence: f64, blocks: bool) -> Option<Ranking> {
    let means: Vec<f64> = conditions.iter().map(|c| mean(&values(c))).collect::<Option<_>>()?;
    let mut order: Vec<usize> = (0..means.len()).collect();
    order.sort_by(|&i, &j| means[i].total_cmp(&means[j]));
    let (&low, &high) = (order.first()?, order.last()?);
    if low == high {
        return None;
    }
    let k = conditions.len();
    let pair = |i: usize, j: usize| Pair::of(&conditions[i], &conditions[j], blocks);
    let extremes = pair(low, high);
    let mut limits = Limits { k, alpha: 1.0 - confidence, known: Vec::new() };
    let ci = extremes.as_ref().and_then(|found| found.interval(limits.of(found.df)));
    let mut tied = |end: usize| -> Vec<usize> {
        let told =
            |i: usize, limits: &mut Limits| pair(end, i).is_some_and(|found| found.range() > limits.of(found.df));
        order.iter().copied().filter(|&i| i == end || !told(i, &mut limits)).collect()
    };
    Some(Ranking {
        difference: extremes.as_ref().map_or(means[high] - means[low], |found| found.difference),
        ci,
        p_value: extremes.as_ref().map_or(1.0, |found| found.p_value(k)),
        lowest: tied(low),
        highest: tied(high),
        order,
    })
}

fn values(condition: &Condition) -> Vec<f64> {
    condition.iter().map(|(_, v)| *v).collect()
}

/// Two conditions against each other.
struct Pair {
    difference: f64,
    se: f64,
    df: f64,
}

impl Pair {
    /// None where there is no standard error.
    fn of(a: &Condition, b: &Condition, blocks: bool) -> Option<Self> {
        if let Some((a, b)) = by_block(a, b).filter(|_| blocks) {
            let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
            let n = differences.len() as f64;
            return Some(Self { difference: mean(&differences)?, se: std_dev(&differences)? / n.sqrt(), df: n - 1.0 });
        }
        let (a, b) = (values(a), values(b));
        let part = |x: &[f64]| Some((std_dev(x)?.powi(2) / x.len() as f64, x.len() as f64 - 1.0));
        let ((va, dfa), (vb, dfb)) = (part(&a)?, part(&b)?);
        let df = (va + vb).powi(2) / (va * va / dfa + vb * vb / dfb);
        let df = if df.is_finite() { df } else { dfa + dfb };
        Some(Self { difference: mean(&b)? - mean(&a)?, se: (va + vb).sqrt(), df })
    }

    /// The difference in units of its standard error as a range of two.
    fn range(&self) -> f64 {
        match self.difference.abs() {
            d if d < 1e-14 => 0.0,
            d if self.se > 0.0 => d / self.se * std::f64::consts::SQRT_2,
            _ => f64::INFINITY,
        }
    }

    fn p_value(&self, k: usize) -> f64 {
        upper_tail(self.range(), k, self.df)
    }

    fn interval(&self, limit: f64) -> Option<Interval> {
        let half = if self.se > 0.0 { limit / std::f64::consts::SQRT_2 * self.se } else { 0.0 };
        Interval::finite(self.difference - half, self.difference + half)
    }
}

/// Critical values by degrees of freedom, each computed once: in complete blocks all pairs have the same.
struct Limits {
    k: usize,
    alpha: f64,
    known: Vec<(f64, f64)>,
}

impl Limits {
    fn of(&mut self, df: f64) -> f64 {
        if let Some((_, limit)) = self.known.iter().find(|(own, _)| (own - df).abs() < 0.05) {
            return *limit;
        }
        let limit = critical(self.alpha, self.k, df);
        self.known.push((df, limit));
        limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(centre: f64) -> Condition {
        [0.0, 0.1, -0.1, 0.05, -0.05].iter().enumerate().map(|(i, e)| (i, centre + e * (1.0 + centre / 10.0))).collect()
    }

    #[test]
    fn the_ends_are_shown_with_those_that_cannot_be_told_from_them() {
        let conditions = [condition(2.0), condition(1.0), condition(3.0), condition(1.02)];
        let found = rank(&conditions, 0.95, false).unwrap();
        assert_eq!(found.order, [1, 3, 0, 2]);
        assert_eq!((found.lowest, found.highest), (vec![1, 3], vec![2]));
        assert!(found.p_value < 0.001 && found.ci.unwrap().contains(2.0) && found.ci.unwrap().low > 1.5);
    }

    #[test]
    fn equal_conditions_and_single_trials_show_nothing() {
        let found = rank(&[condition(1.0), condition(1.0)], 0.95, true).unwrap();
        assert_eq!((found.p_value, found.lowest.len(), found.highest.len()), (1.0, 2, 2));
        let single = rank(&[vec![(0, 1.0)], vec![(0, 5.0)]], 0.95, true).unwrap();
        assert_eq!((single.p_value, single.ci, single.lowest.len()), (1.0, None, 2));
        assert_eq!(rank(&[condition(1.0)], 0.95, true), None);
    }
}
