//! Compares all pairs of conditions, or of groups of them, simultaneously.

use super::quantiles::{studentized_critical, studentized_upper_tail};
use crate::blocks::{Analysis, Contrast, Model, Spread};
use crate::interval::Interval;
use crate::multiple::holm_bounded;
use std::collections::HashSet;

pub use crate::blocks::Condition;

/// With more members only pairs with one of the two ends are tested, because a thousand members have half a million
/// pairs.
const MOST_MEMBERS: usize = 200;
/// Factor on every p-value when the trials themselves decide which variance a condition uses: when one condition is
/// called noisy by chance, the others look less variable than they are. With this factor the error rate holds over all
/// studies, see the tests. When no condition is called noisy, the pooled variance is as independent of that decision as
/// of the means, and no factor is needed.
const CHOICE: f64 = 4.0;
/// Numbers of members for which the studentised range also bounds the p-value of a pair: with fewer the bound is hardly
/// below Holm's, with more its computation takes long.
const RANGE: (usize, usize) = (5, 30);
/// The range is computed only for pairs whose p-value times the number of pairs is at most this.
const RANGE_FROM: f64 = 0.5;

/// The members in order, with the pairs that differ significantly.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// Indexes of the members, in ascending order of their means.
    pub order: Vec<usize>,
    /// The significant pair with the largest difference; the two ends if they differ. `None` when no pair does.
    pub widest: Option<Pair>,
    /// The members with the smallest and the largest mean, whether or not they differ; `None` without a standard error.
    pub ends: Option<Pair>,
    /// Number of pairs that differ significantly.
    pub differing: usize,
    /// Number of pairs that were tested.
    pub tested: usize,
    /// The smallest p-value of a pair, adjusted for all pairs.
    pub p_value: f64,
    /// Members that do not differ significantly from the one with the smallest mean, including itself.
    pub lowest: Vec<usize>,
    /// Members that do not differ significantly from the one with the largest mean, including itself.
    pub highest: Vec<usize>,
    /// The analysis on which the ranking is based.
    pub analysis: Analysis,
}

/// Two members that may differ by chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The member with the smaller mean.
    pub low: usize,
    /// The member with the larger mean.
    pub high: usize,
    /// The difference of the means.
    pub difference: f64,
    /// The unit of the values that were compared.
    unit: f64,
    found: Contrast,
    members: usize,
}

impl Pair {
    /// The simultaneous interval of the difference for all pairs, from the studentised range (Tukey; Games & Howell
    /// 1976 for unequal variances). With few blocks, the wider one of that with the pooled standard error and of the
    /// pair's own.
    pub fn interval(&self, confidence: f64) -> Option<Interval> {
        let half = |members: usize, (se, df): (f64, f64)| match se {
            se if se > 0.0 => {
                studentized_critical(1.0 - confidence, members, df) / std::f64::consts::SQRT_2 * se * self.unit
            }
            _ => 0.0,
        };
        let Contrast { se, df, pooled, .. } = self.found;
        let half = match pooled {
            None => half(self.members, (se, df)),
            Some(pooled) => half(self.members, pooled).max(half(2, (se, df))),
        };
        Interval::finite(self.difference - half, self.difference + half)
    }
}

/// Ranks conditions by comparing all pairs, each with its own standard error or the pooled one (see [`Model`]).
/// p-values are adjusted by Holm; with one pooled variance they are at most those of the studentised range (Tukey).
/// `alpha` is the family-wise error rate. `None` with fewer than two conditions with trials.
pub fn rank(conditions: &[Condition], alpha: f64, blocks: bool) -> Option<Ranking> {
    let members: Vec<Vec<usize>> = (0..conditions.len()).map(|place| vec![place]).collect();
    rank_groups(conditions, &members, alpha, blocks)
}

/// Ranks groups of conditions by the unweighted averages of their conditions' means.
pub fn rank_groups(conditions: &[Condition], members: &[Vec<usize>], alpha: f64, blocks: bool) -> Option<Ranking> {
    rank_rounded((conditions, &[]), members, alpha, blocks)
}

/// The same for conditions whose trials have rounding errors with these standard deviations, see [`Model::rounded`].
pub fn rank_rounded(
    (conditions, errors): (&[Condition], &[f64]),
    members: &[Vec<usize>],
    alpha: f64,
    blocks: bool,
) -> Option<Ranking> {
    // Logarithms are of moderate size; other values are divided by the largest, so that no square overflows.
    let largest = conditions.iter().flatten().fold(0.0f64, |largest, (_, v)| largest.max(v.abs()));
    if (1e-9..1e9).contains(&largest) || !largest.is_normal() {
        return rank_in_unit((conditions, errors), members, alpha, blocks);
    }
    let in_unit = |condition: &Condition| condition.iter().map(|(block, v)| (*block, v / largest)).collect();
    let scaled: Vec<Condition> = conditions.iter().map(in_unit).collect();
    let errors: Vec<f64> = errors.iter().map(|error| error / largest).collect();
    let mut found = rank_in_unit((&scaled, &errors), members, alpha, blocks)?;
    for pair in [&mut found.widest, &mut found.ends].into_iter().flatten() {
        pair.difference *= largest;
        pair.unit = largest;
    }
    Some(found)
}

fn rank_in_unit(
    (conditions, errors): (&[Condition], &[f64]),
    members: &[Vec<usize>],
    alpha: f64,
    blocks: bool,
) -> Option<Ranking> {
    if members.len() < 2 || conditions.iter().any(Vec::is_empty) || members.iter().any(Vec::is_empty) {
        return None;
    }
    let model = Model::of(conditions, blocks).rounded(conditions, errors);
    let compared = Compared { model: &model, members };
    let order = compared.order()?;
    let (&low, &high) = (order.first()?, order.last()?);
    let pairs = tested_pairs(&order);
    let found: Vec<Option<Contrast>> = pairs.iter().map(|(low, high)| compared.pair(*low, *high)).collect();
    let cost = match model.analysis().spread {
        Spread::Own | Spread::Both | Spread::Pooled { .. } => 1.0,
        Spread::SomeOwn { .. } | Spread::Unequal { .. } => CHOICE,
    };
    let p_value = |pair: &Option<Contrast>| pair.map_or(1.0, |pair| (cost * pair.p_value()).min(1.0));
    let all = members.len() * (members.len() - 1) / 2;
    let pooled = matches!(model.analysis().spread, Spread::Pooled { .. });
    let by_range = |place: usize| {
        let usual = |pair: &Contrast| pooled || pair.pooled.is_some();
        let pair = found[place].filter(|pair| usual(pair) && (RANGE.0..=RANGE.1).contains(&members.len()))?;
        let (statistic, df) = pair.statistic();
        let near = pair.p_value() * all as f64 <= RANGE_FROM;
        near.then(|| studentized_upper_tail(statistic * std::f64::consts::SQRT_2, members.len(), df))
    };
    let mut adjusted = holm_bounded(&found.iter().map(p_value).collect::<Vec<_>>(), all, by_range);
    for (adjusted, pair) in adjusted.iter_mut().zip(&found) {
        *adjusted = adjusted.max(pair.and_then(|pair| pair.own_p_value(all)).unwrap_or(0.0));
    }
    let is_shown = |place: usize| adjusted[place] <= alpha;
    let ties = |end: usize| -> Vec<usize> {
        let apart: HashSet<usize> = (0..pairs.len())
            .filter(|place| is_shown(*place))
            .filter_map(|place| match pairs[place] {
                (low, high) if low == end => Some(high),
                (low, high) if high == end => Some(low),
                _ => None,
            })
            .collect();
        order.iter().copied().filter(|i| !apart.contains(i)).collect()
    };
    let shown = (0..pairs.len()).filter(|place| is_shown(*place));
    let shown: Vec<(usize, usize, Contrast)> =
        shown.filter_map(|place| Some((pairs[place].0, pairs[place].1, found[place]?))).collect();
    let pair = |low, high, found: Contrast| Pair {
        low,
        high,
        difference: found.value,
        unit: 1.0,
        found,
        members: members.len(),
    };
    Some(Ranking {
        widest: widest(&shown, (low, high)).map(|(low, high, found)| pair(low, high, found)),
        ends: compared.pair(low, high).map(|found| pair(low, high, found)),
        differing: shown.len(),
        tested: pairs.len(),
        p_value: adjusted.iter().copied().fold(1.0, f64::min),
        lowest: ties(low),
        highest: ties(high),
        analysis: model.analysis(),
        order,
    })
}

/// The two ends if they differ, else the pair with the largest difference.
fn widest(shown: &[(usize, usize, Contrast)], ends: (usize, usize)) -> Option<(usize, usize, Contrast)> {
    let is_ends = |(low, high, _): &&(usize, usize, Contrast)| (*low, *high) == ends;
    let largest = || shown.iter().max_by(|a, b| a.2.value.total_cmp(&b.2.value));
    shown.iter().find(is_ends).or_else(largest).copied()
}

/// (low, high) of all pairs by the order of the means; with too many members only those with one of the ends.
fn tested_pairs(order: &[usize]) -> Vec<(usize, usize)> {
    let last = order.len() - 1;
    let is_tested = |i: usize, j: usize| order.len() <= MOST_MEMBERS || i == 0 || j == last;
    let highs = |i: usize| {
        // With too many members, an inner one is compared only with the ends.
        let from = if is_tested(i, i + 1) { i + 1 } else { last };
        from..=last
    };
    (0..last).flat_map(|i| highs(i).map(move |j| (i, j))).map(|(i, j)| (order[i], order[j])).collect()
}

/// The members of a ranking with their model.
struct Compared<'a> {
    model: &'a Model,
    members: &'a [Vec<usize>],
}

impl Compared<'_> {
    /// Members in ascending order of their means.
    fn order(&self) -> Option<Vec<usize>> {
        let mean = |i: usize| self.model.value(&self.weights(i, 1.0));
        let means: Vec<f64> = (0..self.members.len()).map(mean).collect::<Option<_>>()?;
        let mut order: Vec<usize> = (0..means.len()).collect();
        order.sort_by(|&i, &j| means[i].total_cmp(&means[j]));
        Some(order)
    }

    fn weights(&self, member: usize, sign: f64) -> Vec<(usize, f64)> {
        let own = &self.members[member];
        own.iter().map(|condition| (*condition, sign / own.len() as f64)).collect()
    }

    /// `None` without a standard error.
    fn pair(&self, low: usize, high: usize) -> Option<Contrast> {
        self.model.contrast(&[self.weights(low, -1.0), self.weights(high, 1.0)].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(centre: f64) -> Condition {
        [0.0, 0.1, -0.1, 0.05, -0.05].iter().enumerate().map(|(i, e)| (i, centre + e * (1.0 + centre / 10.0))).collect()
    }

    #[test]
    fn the_ends_are_shown_with_those_that_do_not_differ_from_them() {
        let conditions = [condition(2.0), condition(1.0), condition(3.0), condition(1.02)];
        let found = rank(&conditions, 0.05, false).unwrap();
        assert_eq!(found.order, [1, 3, 0, 2]);
        assert_eq!((found.lowest, found.highest, found.differing, found.tested), (vec![1, 3], vec![2], 5, 6));
        let widest = found.widest.unwrap();
        assert_eq!((widest.low, widest.high), (1, 2));
        let ci = widest.interval(0.95).unwrap();
        assert!(found.p_value < 0.001 && ci.contains(2.0) && ci.low > 1.5);
    }

    #[test]
    fn equal_conditions_and_single_trials_show_nothing() {
        let found = rank(&[condition(1.0), condition(1.0)], 0.05, true).unwrap();
        assert_eq!((found.p_value, found.widest, found.lowest.len(), found.highest.len()), (1.0, None, 2, 2));
        assert!(found.ends.unwrap().interval(0.95).unwrap().contains(0.0));
        let single = rank(&[vec![(0, 1.0)], vec![(0, 5.0)]], 0.05, true).unwrap();
        assert_eq!((single.p_value, single.widest, single.lowest.len()), (1.0, None, 2));
        assert_eq!(rank(&[condition(1.0)], 0.05, true), None);
    }

    #[test]
    fn an_end_that_is_noisy_hides_no_other_pair() {
        let noisy = [-3.0, 4.0, 1.0, -2.0, 6.0].iter().enumerate().map(|(i, e)| (i, 3.0 + e)).collect();
        let found = rank(&[condition(1.0), noisy, condition(2.0)], 0.05, false).unwrap();
        let widest = found.widest.unwrap();
        assert_eq!((widest.low, widest.high, found.differing), (0, 2, 1));
        assert_eq!((found.lowest, found.highest.len()), (vec![0, 1], 3));
    }

    #[test]
    fn of_hundreds_the_ends_are_tested_and_all_pairs_are_counted() {
        let many: Vec<Condition> = (0..300).map(|i| condition(if i == 7 { 5.0 } else { 1.0 })).collect();
        let found = rank(&many, 0.05, false).unwrap();
        assert_eq!((found.tested, found.highest), (2 * 299 - 1, vec![7]));
    }

    #[test]
    fn groups_are_compared_by_the_averages_of_their_conditions() {
        let conditions = [condition(1.0), condition(2.0), condition(3.0), condition(4.0)];
        let found = rank_groups(&conditions, &[vec![0, 3], vec![1, 2]], 0.05, true).unwrap();
        assert_eq!((found.widest, found.tested), (None, 1));
        let found = rank_groups(&conditions, &[vec![0, 1], vec![2, 3]], 0.05, true).unwrap();
        assert!((found.widest.unwrap().difference - 2.0).abs() < 1e-12);
    }
}
