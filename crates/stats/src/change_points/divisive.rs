//! E-divisive: splits a series into segments with different distributions (Matteson & James, "A nonparametric approach
//! for multiple change point analysis of multivariate data", JASA 109, 2014), with the distance |x - y|.
//!
//! Q(X, Y) = 2/(m+n) sum |X_i - Y_j| - 2m/((m+n)(n-1)) sum_{i<k} |X_i - X_k| - 2n/((m+n)(m-1)) sum_{j<k} |Y_j - Y_k|,
//! where n and m are the numbers of runs in X and Y, at its largest over all splits. A t test of the chosen split at a
//! nominal 0.1% would be significant in 2.5% of series without a change, because the split was chosen from the data.
//! The maximum itself is therefore tested by permutation.

use super::series::{self, SHORTEST, Split, places, segments};
use crate::order::{generator, shuffle};

/// Permutations per test: at least this many, and at least [`OVER_RATE`] / rate.
const PERMUTATIONS: usize = 999;
const OVER_RATE: f64 = 10.0;
/// Relative difference by which two Q of the same runs in another order may differ from rounding.
const ROUNDING: f64 = 1e-9;
/// Limit of the work for one history: runs times permutations, summed over its series with one test each. Long series,
/// and many of them, get fewer permutations, but always as many as their rate needs.
const LOOKS: f64 = 2e10;

/// The splits in order of time: those found as if runs were independent, without those that the autocorrelation of the
/// runs explains.
///
/// The allowance for autocorrelation is applied to the distance of the means in units of the residual variance within
/// segments. Applied to Q, which grows with the step just as the Q of permuted runs does, it hid steps of any size in
/// short series.
pub(super) fn splits(values: &[f64], rate: f64, seed: u64) -> Vec<Split> {
    let (held, _) = series::held(values, series::reach(values));
    let mut found = divided(&held, values, rate, seed);
    loop {
        let p_values = series::step_p_values(&held, &places(&found));
        let weakest = p_values.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        match weakest.filter(|(_, p_value)| *p_value > rate) {
            Some((turn, _)) => found.remove(turn),
            None => {
                found.iter_mut().zip(p_values).for_each(|(split, p)| split.p_value = split.p_value.max(p));
                return found;
            }
        };
        found = settled(&held, found);
    }
}

/// Adds splits one by one as long as the next one is significant at `rate`: the best split of all segments is compared
/// with the best when runs are permuted within their segments.
fn divided(held: &[f64], values: &[f64], rate: f64, seed: u64) -> Vec<Split> {
    // The permuted runs of a large step must not count as outliers.
    let at_random_reach = series::reach(values).max(series::reach_in_any_order(values));
    let mut found: Vec<Split> = Vec::new();
    loop {
        let all = segments(&places(&found), held.len());
        let best = |values: &[f64]| {
            let of = |segment: &std::ops::Range<usize>| {
                best(&values[segment.clone()]).map(|(place, q)| (segment.start + place, q))
            };
            all.iter().filter_map(of).max_by(|a, b| a.1.total_cmp(&b.1))
        };
        let Some((place, q)) = best(held) else { break };
        let mut at_random = values.to_vec();
        let mut rng = generator(seed);
        let next = || {
            all.iter().for_each(|segment| shuffle(&mut rng, &mut at_random[segment.clone()]));
            let q_of = |reach: f64| best(&series::held(&at_random, reach).0).map_or(0.0, |(_, q)| q);
            let q = q_of(at_random_reach);
            // Outliers were replaced, which puts the rest in order, so those of permuted runs are too: otherwise runs
            // in two modes, in any order, were a step in 10 to 26% of series.
            if held == values { q } else { q.max(q_of(series::reach(&at_random))) }
        };
        match significant(q, rate, held.len(), next) {
            Some(p_value) => found.push(Split { place, p_value }),
            None => break,
        }
        found.sort_by_key(|split| split.place);
    }
    settled(held, found)
}

/// Returns p = (1 + k) / (1 + P) if it is at most `rate`; stops drawing as soon as that is no longer possible.
fn significant(q: f64, rate: f64, runs: usize, mut next: impl FnMut() -> f64) -> Option<f64> {
    let wanted = PERMUTATIONS.max((OVER_RATE / rate).ceil() as usize);
    let affordable = (LOOKS * rate / runs as f64) as usize;
    let permutations = wanted.min(affordable.max((1.0 / rate).ceil() as usize));
    let most = rate * (1 + permutations) as f64;
    let mut reached = 0usize;
    for _ in 0..permutations {
        reached += usize::from(next() >= q * (1.0 - ROUNDING));
        if (1 + reached) as f64 > most {
            return None;
        }
    }
    let p_value = (1 + reached) as f64 / (1 + permutations) as f64;
    (p_value <= rate).then_some(p_value)
}

/// Moves each split to the best place between its neighbours: the first ones were placed before the others were found.
fn settled(values: &[f64], mut found: Vec<Split>) -> Vec<Split> {
    for turn in 0..found.len() {
        let from = if turn == 0 { 0 } else { found[turn - 1].place };
        let to = found.get(turn + 1).map_or(values.len(), |next| next.place);
        if let Some((place, _)) = best(&values[from..to]) {
            found[turn].place = from + place;
        }
    }
    found
}

/// Index of the first run after the best split, and its Q; `None` with fewer runs than two shortest segments, or when
/// all runs are equal.
fn best(values: &[f64]) -> Option<(usize, f64)> {
    let all = values.len();
    if all < 2 * SHORTEST {
        return None;
    }
    // All runs start on the right of the split and move to the left one by one.
    let (ranks, to_all) = distances(values);
    let (mut left, mut between, mut right) = (0.0, 0.0, to_all.iter().sum::<f64>() / 2.0);
    let (mut before, mut best) = (Before::of(all), None::<(usize, f64)>);
    for (place, (rank, in_all)) in ranks.into_iter().zip(to_all).enumerate().take(all - SHORTEST) {
        let value = values[place] - values[0];
        let to_left = before.distance(rank, value);
        before.add(rank, value);
        let to_right = in_all - to_left;
        left += to_left;
        right -= to_right;
        between += to_right - to_left;
        let n = (place + 1) as f64;
        let m = all as f64 - n;
        if place + 1 >= SHORTEST {
            let q = (2.0 * between - 2.0 * m / (n - 1.0) * left - 2.0 * n / (m - 1.0) * right) / (m + n);
            best = best.filter(|(_, most)| *most >= q).or(Some((place + 1, q)));
        }
    }
    best.filter(|(_, q)| *q > 0.0)
}

/// The rank of each value, from 1, and the sum of its distances to all values.
fn distances(values: &[f64]) -> (Vec<usize>, Vec<f64>) {
    let mut order: Vec<(f64, usize)> = values.iter().enumerate().map(|(at, value)| (value - values[0], at)).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = order.iter().map(|(value, _)| value).sum();
    let (mut ranks, mut to_all, mut below) = (vec![0; values.len()], vec![0.0; values.len()], 0.0);
    for (rank, (value, at)) in order.into_iter().enumerate() {
        let (fewer, more) = (rank as f64, (values.len() - rank) as f64);
        ranks[at] = rank + 1;
        to_all[at] = (value * fewer - below) + (total - below - value * more);
        below += value;
    }
    (ranks, to_all)
}

/// The runs before a split by rank, in a tree of sums (Fenwick, "A new data structure for cumulative frequency tables",
/// 1994): the distance of a value to all of them takes time logarithmic in their number.
struct Before {
    /// Number and sum.
    tree: Vec<(f64, f64)>,
    all: (f64, f64),
}

impl Before {
    fn of(ranks: usize) -> Self {
        Self { tree: vec![(0.0, 0.0); ranks + 1], all: (0.0, 0.0) }
    }

    fn add(&mut self, rank: usize, value: f64) {
        self.all = (self.all.0 + 1.0, self.all.1 + value);
        let mut at = rank;
        while let Some((number, sum)) = self.tree.get_mut(at) {
            (*number, *sum) = (*number + 1.0, *sum + value);
            at += at & at.wrapping_neg();
        }
    }

    fn distance(&self, rank: usize, value: f64) -> f64 {
        let (mut number, mut sum, mut at) = (0.0, 0.0, rank);
        while at > 0 {
            (number, sum) = (number + self.tree[at].0, sum + self.tree[at].1);
            at &= at - 1;
        }
        (value * number - sum) + (self.all.1 - sum - value * (self.all.0 - number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Q by its definition, pair by pair.
    fn q(x: &[f64], y: &[f64]) -> f64 {
        let (n, m) = (x.len() as f64, y.len() as f64);
        let within = |of: &[f64]| -> f64 {
            of.iter().enumerate().map(|(i, a)| of[i + 1..].iter().map(|b| (a - b).abs()).sum::<f64>()).sum()
        };
        let between: f64 = x.iter().map(|a| y.iter().map(|b| (a - b).abs()).sum::<f64>()).sum();
        2.0 / (m + n) * between
            - 2.0 * m / ((m + n) * (n - 1.0)) * within(x)
            - 2.0 * n / ((m + n) * (m - 1.0)) * within(y)
    }

    #[test]
    fn the_best_split_is_that_of_the_formula() {
        let values = [3.1, 2.9, 3.3, 2.7, 4.9, 5.2, 5.0, 4.4, 5.1, 3.0, 4.7];
        let expected = (SHORTEST..=values.len() - SHORTEST)
            .map(|place| (place, q(&values[..place], &values[place..])))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .unwrap();
        let found = best(&values).unwrap();
        assert_eq!(found.0, expected.0);
        assert!((found.1 - expected.1).abs() < 1e-9, "{found:?} {expected:?}");
        assert_eq!((best(&values[..5]), best(&[1.0; 9])), (None, None));
    }

    #[test]
    fn a_p_value_counts_the_observed_one_and_ends_early() {
        let mut draws = 0;
        let none = significant(1.0, 0.05, 20, || {
            draws += 1;
            2.0
        });
        assert_eq!((none, draws), (None, 50), "at most 50 of 1,000 with the observed one");
        assert_eq!(significant(1.0, 0.05, 20, || 0.0), Some(0.001));
    }

    /// With the rate of a history of 500 series.
    #[test]
    fn many_long_lines_are_permuted_as_often_as_it_takes_and_no_more() {
        for (runs, most) in [(10, 125_000), (20, 80_000), (180, 12_501), (2_000, 12_501)] {
            let mut draws = 0;
            let found = significant(1.0, 0.04 / 500.0, runs, || {
                draws += 1;
                0.0
            });
            assert!(found.is_some() && draws <= most, "{runs} runs: {found:?} of {draws}");
        }
    }
}
