//! Tests whether a metric has two or three modes, and which covariate separates them. Random placement makes throughput
//! bimodal, and then its mean describes no actual run.

use crate::blocks::{Condition, Residuals};
use crate::covariates::{Association, Covariate, Shape, explain, neighbours};
use crate::descriptive::{mean, median};
use crate::error::Error;
use crate::mode_limits::{THREE, TWO};
use crate::serial::run_order;
use std::fmt::Display;

/// Fewest trials in a mode.
const FEWEST: usize = 3;
/// Maximum number of candidates for each cut in the search for three modes, because the number of pairs grows with the
/// square.
const MOST_CUTS: usize = 1000;
/// A cluster without spread counts as having this share of the total, which keeps the logarithm finite.
const LEAST: f64 = 1e-12;
/// The test for three modes is a second chance to reject one mode, and is made at a tenth of the level; this factor
/// accounts for both.
const BOTH: f64 = 1.1;

/// A group of values around its own centre.
#[derive(Debug, Clone, PartialEq)]
pub struct Mode {
    /// Median of its trials, in the unit of the metric.
    pub centre: f64,
    /// Share of the trials that belong to it.
    pub weight: f64,
    /// Indexes of the trials that belong to it.
    pub members: Vec<usize>,
}

/// Two or three modes and the evidence for them.
#[derive(Debug, Clone, PartialEq)]
pub struct Modes {
    /// The modes in ascending order of their values.
    pub modes: Vec<Mode>,
    /// By how much the gap statistic exceeds its critical value; above 0.
    pub excess: f64,
}

/// Two or three modes of trial means, or `None` when one mode describes them.
///
/// The values are sorted and cut where W, the sum of distances to each part's median, is smallest. One mode is rejected
/// when T = ln(W1 / W2) exceeds the value that 2% of uniform samples exceed (after Tibshirani, Walther & Hastie,
/// "Estimating the number of clusters in a data set via the gap statistic", JRSS B 63, 2001; distances instead of
/// squares, and critical values by simulation, are specific to this crate). Skewed and heavy-tailed data are taken as
/// one mode, and tight clusters of unequal spread are found. Three modes are reported when three clusters exceed their
/// own, stricter critical value, or when one of two clusters splits again. Each mode has at least 3 trials. Values must
/// be finite.
pub fn detect(trial_means: &[f64]) -> Option<Modes> {
    let mut order: Vec<usize> = (0..trial_means.len()).collect();
    order.sort_by(|&i, &j| trial_means[i].total_cmp(&trial_means[j]));
    let sorted: Vec<f64> = order.iter().map(|&i| trial_means[i]).collect();
    let (cuts, excess) = cut(&sorted)?;
    let ends: Vec<usize> = std::iter::once(0).chain(cuts).chain([sorted.len()]).collect();
    let mode = |range: &[usize]| Mode {
        centre: median(&sorted[range[0]..range[1]]).unwrap_or(f64::NAN),
        weight: (range[1] - range[0]) as f64 / sorted.len() as f64,
        members: order[range[0]..range[1]].to_vec(),
    };
    let mut modes: Vec<Mode> = ends.windows(2).map(mode).collect();
    modes.iter_mut().for_each(|m| m.members.sort_unstable());
    modes.iter().all(|m| m.centre.is_finite()).then_some(Modes { modes, excess })
}

/// p-value of one mode of any shape, which [`detect`] compares with 2%. Adjust the p-values of several metrics and
/// conditions together ([`crate::multiple::holm`]). `None` for fewer than 6 values or values without spread, which are
/// not tested.
pub fn p_value(trial_means: &[f64]) -> Option<f64> {
    let mut sorted = trial_means.to_vec();
    sorted.sort_by(f64::total_cmp);
    let spread = Distances::of(&sorted)?;
    let n = sorted.len();
    let two = spread.best_two(0, n).map_or(1.0, |(_, w)| TWO.p_value(n, (spread.all / w).ln()));
    let three = spread.best_three().map_or(1.0, |(_, w)| THREE.p_value(n, (spread.all / w).ln()));
    Some((BOTH * two.min(10.0 * three)).min(1.0))
}

/// Level at which block effects are removed: those that are not removed are far smaller than the spread of trials.
const BLOCKS_DIFFER: f64 = 0.2;

/// Residuals of all conditions as one series, scaled to the standard deviation of trials: two modes that many
/// conditions have in common are detected in all of them together before they are in any single one. Conditions with a
/// single trial are left out, and of two residuals that are equal but for their sign, one is.
///
/// Of trials in blocks, block effects are removed too if blocks differ (F test of the additive model at 20%): a few
/// blocks that differ would be as many modes. The second value is whether they were removed.
pub fn together(conditions: &[Condition], blocks: bool) -> (Vec<f64>, bool) {
    let found = if blocks { Residuals::of(conditions) } else { None };
    match found.filter(|found| found.blocks <= BLOCKS_DIFFER) {
        Some(found) => (found.values, true),
        None => (residuals(conditions), false),
    }
}

/// The residuals after the effects of conditions alone.
pub(crate) fn residuals(conditions: &[Condition]) -> Vec<f64> {
    let left = conditions.iter().filter(|trials| trials.len() > 1).filter_map(|trials| {
        let (n, values) = (trials.len(), trials.iter().map(|(_, value)| *value).collect::<Vec<_>>());
        let centre = mean(&values)?;
        let scale = (n as f64 / (n as f64 - 1.0)).sqrt();
        Some(values.into_iter().take(if n == 2 { 1 } else { n }).map(move |v| (v - centre) * scale))
    });
    left.flatten().collect()
}

/// The best cuts of the sorted values, and by how much the evidence exceeds its critical value.
fn cut(sorted: &[f64]) -> Option<(Vec<usize>, f64)> {
    let spread = Distances::of(sorted)?;
    let n = sorted.len();
    let two = spread.best_two(0, n).map(|(at, w)| (at, (spread.all / w).ln() - TWO.first(n)));
    let three = spread.best_three().map(|(at, w)| (at, (spread.all / w).ln() - THREE.first(n)));
    match (two, three) {
        (Some((at, excess)), three) if excess > 0.0 => {
            let apart = |from: usize, to: usize| {
                let part = Distances::of(&sorted[from..to])?;
                let (inner, w) = part.best_two(0, to - from)?;
                ((part.all / w).ln() > TWO.first(to - from)).then_some(from + inner)
            };
            match (three.filter(|t| t.1 > 0.0), apart(0, at).or_else(|| apart(at, n))) {
                (_, None) => Some((vec![at], excess)),
                (Some((cuts, excess)), Some(_)) => Some((cuts.to_vec(), excess)),
                (None, Some(second)) => Some((vec![at.min(second), at.max(second)], excess)),
            }
        }
        (_, Some((cuts, excess))) if excess > 0.0 => Some((cuts.to_vec(), excess)),
        _ => None,
    }
}

/// Sums of distances to the median of any range of sorted values.
struct Distances<'a> {
    sorted: &'a [f64],
    /// Cumulative sums of the values about their median, so that a common offset loses no digits, in units of the
    /// largest.
    sums: Vec<f64>,
    centred: Vec<f64>,
    /// The sum for all values.
    all: f64,
}

impl<'a> Distances<'a> {
    /// `None` for too few values, or for values without spread.
    fn of(sorted: &'a [f64]) -> Option<Self> {
        if sorted.len() < 2 * FEWEST || !sorted.iter().all(|v| v.is_finite()) {
            return None;
        }
        let middle = sorted[sorted.len() / 2];
        // Halved before subtracting, because the range of finite values may overflow.
        let scale = (sorted[0] / 2.0 - middle / 2.0).abs().max((sorted[sorted.len() - 1] / 2.0 - middle / 2.0).abs());
        let centred: Vec<f64> = sorted.iter().map(|v| (v / 2.0 - middle / 2.0) / scale).collect();
        let mut sums = vec![0.0; sorted.len() + 1];
        for (i, v) in centred.iter().enumerate() {
            sums[i + 1] = sums[i] + v;
        }
        let mut found = Self { sorted, sums, centred, all: 0.0 };
        found.all = found.within(0, found.sorted.len());
        (found.all > 0.0 && found.all.is_finite()).then_some(found)
    }

    fn within(&self, from: usize, to: usize) -> f64 {
        let middle = usize::midpoint(from, to);
        let centre = self.centred[middle];
        let below = centre * (middle - from) as f64 - (self.sums[middle] - self.sums[from]);
        let above = self.sums[to] - self.sums[middle] - centre * (to - middle) as f64;
        (below + above).max(0.0)
    }

    fn floored(&self, w: f64) -> f64 {
        w.max(LEAST * self.all)
    }

    fn best_two(&self, from: usize, to: usize) -> Option<(usize, f64)> {
        let cuts = from + FEWEST..=to.checked_sub(FEWEST)?;
        let cost = |at: usize| (at, self.floored(self.within(from, at) + self.within(at, to)));
        cuts.map(cost).min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn best_three(&self) -> Option<([usize; 2], f64)> {
        let n = self.sorted.len();
        let last = n.checked_sub(2 * FEWEST)?;
        // All pairs of cuts for few values; for many those of a grid, and then all near the best of these.
        let step = n.div_ceil(MOST_CUTS);
        let coarse = self.cheapest_pair((FEWEST..=last).step_by(step), |i| (i + FEWEST..=n - FEWEST).step_by(step))?;
        let ([i, j], w) = coarse;
        if step == 1 {
            return Some(([i, j], self.floored(w)));
        }
        let near = |at: usize| at.saturating_sub(step)..=at + step;
        let firsts = near(i).filter(|i| (FEWEST..=last).contains(i));
        let seconds = |i: usize| near(j).filter(move |j| (i + FEWEST..=n - FEWEST).contains(j));
        let (cuts, w) = self.cheapest_pair(firsts, seconds).unwrap_or(coarse);
        Some((cuts, self.floored(w)))
    }

    fn cheapest_pair<J: Iterator<Item = usize>>(
        &self,
        firsts: impl Iterator<Item = usize>,
        seconds: impl Fn(usize) -> J,
    ) -> Option<([usize; 2], f64)> {
        let n = self.sorted.len();
        let costs = firsts.flat_map(|i| {
            let lowest = self.within(0, i);
            seconds(i).map(move |j| ([i, j], lowest + self.within(i, j) + self.within(j, n)))
        });
        costs.min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// If the autocorrelation of the modes has a p-value of at most this, only neighbouring trials are permuted.
const RESEMBLES: f64 = 0.3;

/// The mode of each trial, with 0 for the lowest.
fn places(found: &Modes) -> Vec<f64> {
    let mut places = vec![0.0; found.modes.iter().map(|m| m.members.len()).sum()];
    for (place, mode) in found.modes.iter().enumerate() {
        mode.members.iter().for_each(|&i| places[i] = place as f64);
    }
    places
}

/// The strata within which trials are permuted when a cause of the modes is tested; `order` is the position of each
/// trial in the run, after its machine if there are several. If the modes come in random order, all trials are one
/// stratum: any association with a covariate is then by chance. If neighbouring trials tend to be in the same mode, the
/// machine has states, or machines differ, and everything that changes with them is associated with the modes: then
/// each stratum is a pair of neighbours. A covariate that was drawn at random for each trial needs neither: nothing can
/// change with it but by chance.
pub fn strata<P: Ord + Copy>(found: &Modes, order: &[P]) -> Vec<usize> {
    let mut trials: Vec<(P, f64)> = order.iter().copied().zip(places(found)).collect();
    trials.sort_by_key(|(at, _)| *at);
    let in_order: Vec<f64> = trials.into_iter().map(|(_, place)| place).collect();
    match run_order(&in_order, 1) {
        Some(found) if found.p_value > RESEMBLES => vec![0; order.len()],
        _ => neighbours(order),
    }
}

/// Associations of covariates (one entry per trial, in the order given to [`detect`]) with the modes, the best first;
/// see [`explain`] for the shares, the p-values and the [`strata`]. A numeric covariate separates modes by a threshold.
///
/// # Errors
/// As [`explain`].
pub fn association<N: Clone + Display>(
    found: &Modes,
    strata: &[usize],
    covariates: &[Covariate<N>],
    permutations: usize,
    seed: u64,
) -> Result<Vec<Association<N>>, Error> {
    let response = places(found);
    let alone = vec![0; response.len()];
    explain(&response, &alone, strata, covariates, Shape::Threshold, permutations, seed)
}

/// Mean of the trials of each mode, the lowest mode first.
pub fn means(found: &Modes, trial_means: &[f64]) -> Vec<f64> {
    let of = |mode: &Mode| mean(&mode.members.iter().map(|&i| trial_means[i]).collect::<Vec<_>>());
    found.modes.iter().map(|mode| of(mode).unwrap_or(mode.centre)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::covariates::Values;

    const LUCK: [f64; 9] = [24.1, 37.2, 23.8, 24.4, 36.8, 37.5, 24.0, 37.0, 23.9];

    #[test]
    fn the_placement_article_s_two_modes() {
        let found = detect(&LUCK).unwrap();
        assert_eq!(found.modes[0].members, [0, 2, 3, 6, 8]);
        assert_eq!(found.modes[1].members, [1, 4, 5, 7]);
        assert_eq!((found.modes[0].centre, found.modes[1].centre), (24.0, 37.1));
        assert!((found.modes[1].weight - 4.0 / 9.0).abs() < 1e-6);
        assert!((means(&found, &LUCK)[0] - 24.04).abs() < 1e-9);
    }

    /// Half of the runs are within 1% of 24.4K, the rest between 30K and 37.7K: modes of very unequal spread.
    #[test]
    fn the_articles_own_eight_runs_are_two_modes() {
        let runs = [30001.0, 36160.0, 24403.0, 24354.0, 37708.0, 24478.0, 36323.0, 24579.0];
        let found = detect(&runs).unwrap();
        // The run at 30K is nearer to the lower half in sum of distances.
        assert_eq!(found.modes[0].members, [0, 2, 3, 5, 7]);
        assert!((found.excess - (1.749 - 1.641)).abs() < 2e-3, "{}", found.excess);
    }

    #[test]
    fn three_modes_are_three() {
        let centres = [10.0, 20.0, 30.0];
        let values: Vec<f64> = (0..15).map(|i| centres[i % 3] + 0.1 * (i as f64 * 0.7).sin()).collect();
        let found = detect(&values).unwrap();
        assert_eq!(found.modes.len(), 3, "{found:?}");
        assert_eq!(found.modes[1].members, [1, 4, 7, 10, 13]);
        let uneven: Vec<f64> = [10.0, 10.1, 10.05, 9.9, 11.0, 11.05, 11.1, 30.0, 30.1, 29.9, 30.05, 30.2].into();
        assert!(detect(&uneven).unwrap().modes.len() >= 2);
    }

    /// With many values, the grid of cuts finds the same modes as all cuts.
    #[test]
    fn three_modes_of_a_hundred_thousand_trials_are_found_at_once() {
        let centres = [10.0, 20.0, 30.0];
        let values: Vec<f64> = (0..100_000).map(|i| centres[i * i % 7 % 3] + 0.1 * (i as f64 * 0.7).sin()).collect();
        let found = detect(&values).unwrap();
        assert_eq!(found.modes.len(), 3, "{:?}", found.excess);
        for (mode, centre) in found.modes.iter().zip(centres) {
            assert!(mode.members.iter().all(|&i| (values[i] - centre).abs() < 1.0), "a trial of another mode is in it");
        }
    }

    #[test]
    fn one_mode_too_few_values_and_one_outlier_are_not_two_modes() {
        assert_eq!(detect(&[10.0, 10.2, 9.9, 10.1, 10.05, 9.95, 10.0, 10.1]), None);
        assert_eq!(detect(&[1.0, 1.1, 5.0, 5.1]), None);
        assert_eq!(detect(&[7.0; 12]), None);
        assert_eq!(detect(&[10.0, 10.1, 9.9, 10.0, 10.2, 9.8, 10.1, 99.0]), None);
    }

    #[test]
    fn exact_repeats_and_extreme_numbers_do_not_break_it() {
        for unit in [1.0, 1e-200, 1e300] {
            let found = detect(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0].map(|v| v * unit)).unwrap();
            assert_eq!((found.modes[0].centre, found.modes[1].centre), (unit, 2.0 * unit));
        }
    }

    #[test]
    fn the_covariate_that_separates_the_modes_is_named() {
        let found = detect(&LUCK).unwrap();
        let text = |v: &[&str]| Values::Categorical(v.iter().map(|s| Some((*s).to_string())).collect());
        let covariates = [
            Covariate { name: "client node", values: text(&["0", "1", "0", "1", "0", "1", "0", "1", "0"]) },
            Covariate { name: "server node", values: text(&["0", "1", "0", "0", "1", "1", "0", "1", "0"]) },
            Covariate { name: "trial", values: Values::Numeric((0..9).map(|i| Some(f64::from(i))).collect()) },
        ];
        let named = association(&found, &[0; 9], &covariates, 1999, 1).unwrap();
        assert_eq!(named[0].name, "server node");
        assert!((named[0].share - 1.0).abs() < 1e-12);
        // One of the 126 ways to choose 4 of 9 trials reproduces the split, so p is near 1/126.
        assert!((named[0].p_value - 1.0 / 126.0).abs() < 0.006, "{}", named[0].p_value);
        assert!(named[0].p_adjusted < 0.05 && named[1].p_adjusted > 0.05);
    }
}
