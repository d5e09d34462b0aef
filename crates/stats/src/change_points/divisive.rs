//! E-divisive: where a line splits into two distributions (Matteson & James, "A nonparametric approach for multiple
//! change point analysis of multivariate data", JASA 109, 2014), with the distance |x - y|.
//!
//! Q(X, Y) = 2/(m+n) sum |X_i - Y_j| - 2m/((m+n)(n-1)) sum_{i<k} |X_i - X_k| - 2n/((m+n)(m-1)) sum_{j<k} |Y_j - Y_k|,
//! n and m the runs of X and Y, at its largest over all splits. A t test on the chosen split would pass a nominal
//! 0.1% in 2.5% of lines without a change, for the place was chosen; so the maximum itself is permuted.

use super::split::{SHORTEST, Split, places, segments};
use super::{outliers, resemblance};
use crate::order::{generator, shuffle};

/// Permutations of a test, and what more the rate needs: at least this many times 1 / rate.
const PERMUTATIONS: usize = 999;
const OVER_RATE: f64 = 10.0;
/// Differences that all permutations of a test together take: long lines are permuted less often ...
const DIFFERENCES: f64 = 4e9;
/// ... but never less than this.
const FEWEST_PERMUTATIONS: usize = 199;

/// The splits in the order of time: those found as if runs were independent, less those that the resemblance of runs
/// explains.
///
/// What resemblance costs is held against the distance of means in units of what segments leave. Held against Q, which
/// grows with the step as the Q of runs that have changed places does, it hid steps of any size in short lines.
pub(super) fn splits(values: &[f64], rate: f64, seed: u64) -> Vec<Split> {
    let (held, _) = outliers::held(values, outliers::reach(values));
    let mut found = divided(&held, values, rate, seed);
    loop {
        let p_values = resemblance::p_values(&held, &places(&found));
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

/// Splits added one by one as long as the next one is significant at `rate`: the best of all segments, against the best
/// of all segments when runs change places inside theirs.
fn divided(held: &[f64], values: &[f64], rate: f64, seed: u64) -> Vec<Split> {
    // A step whose runs have changed places is no series of outliers.
    let at_random_reach = outliers::reach(values).max(outliers::reach_in_any_order(values));
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
            best(&outliers::held(&at_random, at_random_reach).0).map_or(0.0, |(_, q)| q)
        };
        match significant(q, rate, held.len(), next) {
            Some(p_value) => found.push(Split { place, p_value }),
            None => break,
        }
        found.sort_by_key(|split| split.place);
    }
    settled(held, found)
}

/// p = (1 + k) / (1 + P) where it is at most `rate`; as soon as it can no longer be, nothing more is drawn.
fn significant(q: f64, rate: f64, runs: usize, mut next: impl FnMut() -> f64) -> Option<f64> {
    let wanted = PERMUTATIONS.max((OVER_RATE / rate).ceil() as usize);
    let affordable = (DIFFERENCES / (runs * runs) as f64) as usize;
    let permutations = wanted.min(affordable.max(FEWEST_PERMUTATIONS));
    let most = rate * (1 + permutations) as f64;
    let mut reached = 0usize;
    for _ in 0..permutations {
        reached += usize::from(next() >= q * (1.0 - 1e-12));
        if (1 + reached) as f64 > most {
            return None;
        }
    }
    let p_value = (1 + reached) as f64 / (1 + permutations) as f64;
    (p_value <= rate).then_some(p_value)
}

/// Every split again where it is best between its neighbours: the first were placed while others were still in the way.
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

/// First run after the best split, and its Q; none below two shortest segments or where no run differs.
fn best(values: &[f64]) -> Option<(usize, f64)> {
    let all = values.len();
    if all < 2 * SHORTEST {
        return None;
    }
    let distance = |from: &[f64], value: f64| from.iter().map(|other| (other - value).abs()).sum::<f64>();
    // Left of the split nothing, right of it everything; then one run after the other goes over.
    let (mut left, mut between) = (0.0, 0.0);
    let mut right: f64 = (0..all).map(|place| distance(&values[place + 1..], values[place])).sum();
    let mut best: Option<(usize, f64)> = None;
    for (place, value) in values.iter().enumerate().take(all - SHORTEST) {
        let (to_left, to_right) = (distance(&values[..place], *value), distance(&values[place + 1..], *value));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Q as the formula stands, pair by pair.
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
}
