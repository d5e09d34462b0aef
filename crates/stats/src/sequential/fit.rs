//! The model of paired log ratios (a mean and an order effect), and the order within pairs.
//! A randomisation test of that order holds for trials of any distribution, unlike a t test of few pairs.

use crate::error::{Error, all_finite};
use crate::interval::{Estimate, Interval};
use crate::order::randomized_blocks;
use crate::quantiles::t_two_sided;

/// Numbers of pairs after which [`Rule::Looks`](super::Rule::Looks) has a look.
pub const LOOKS: [usize; 5] = [4, 6, 9, 13, 18];

/// Two successive trials, one of each side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// ln(B / A) of the two values, without a unit.
    pub log_ratio: f64,
    /// Whether B ran first.
    pub b_first: bool,
}

/// The estimates from the pairs so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// Estimate of delta, the mean of ln(B / A).
    pub mean: f64,
    /// Estimate of phi, ln(second / first), the order effect; `None` when the model has no such term.
    pub place: Option<f64>,
    /// Residual standard deviation of one pair, in log units.
    pub sd: f64,
    /// Number of pairs used.
    pub pairs: usize,
    /// Effective number of pairs for the variance of delta, which is sd^2 / weight. At most `pairs`, less when one side
    /// was first more often.
    pub weight: f64,
    /// Degrees of freedom of `sd`.
    pub df: f64,
}

impl Fit {
    /// Least squares with an order effect. With n1 pairs in which A ran first and n2 in which B did, and m1, m2 the
    /// means of these: delta = (m1 + m2) / 2. The mean is delta + phi where B ran second and delta - phi where it ran
    /// first, so phi = (m1 - m2) / 2; weight = 4 n1 n2 / (n1 + n2), df = n1 + n2 - 2. `None` with fewer than three
    /// pairs, and as long as one side was first in all of them, because the order effect then cannot be separated.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for a log ratio that is not finite.
    pub fn of(pairs: &[Pair]) -> Result<Option<Self>, Error> {
        let of_place = |b_first: bool| -> Vec<f64> {
            pairs.iter().filter(|pair| pair.b_first == b_first).map(|pair| pair.log_ratio).collect()
        };
        let (a_first, b_first) = (of_place(false), of_place(true));
        all_finite("log ratios of pairs", &a_first)?;
        all_finite("log ratios of pairs", &b_first)?;
        let (n1, n2) = (a_first.len() as f64, b_first.len() as f64);
        if a_first.is_empty() || b_first.is_empty() || pairs.len() < 3 {
            return Ok(None);
        }
        let ((m1, squares1), (m2, squares2)) = (around_mean(&a_first), around_mean(&b_first));
        let df = n1 + n2 - 2.0;
        Ok(Some(Self {
            mean: f64::midpoint(m1, m2),
            place: Some((m1 - m2) / 2.0),
            sd: ((squares1 + squares2) / df).sqrt(),
            pairs: pairs.len(),
            weight: 4.0 * n1 * n2 / (n1 + n2),
            df,
        }))
    }

    /// The plain mean of log ratios, without an order effect. `None` with fewer than two.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for a log ratio that is not finite.
    pub fn without_place(log_ratios: &[f64]) -> Result<Option<Self>, Error> {
        all_finite("log ratios of pairs", log_ratios)?;
        if log_ratios.len() < 2 {
            return Ok(None);
        }
        let (mean, squares) = around_mean(log_ratios);
        let n = log_ratios.len() as f64;
        let sd = (squares / (n - 1.0)).sqrt();
        Ok(Some(Self { mean, place: None, sd, pairs: log_ratios.len(), weight: n, df: n - 1.0 }))
    }

    /// Standard error of delta, in log units.
    pub fn standard_error(&self) -> f64 {
        self.sd / self.weight.sqrt()
    }

    /// Half-width of the interval of delta for a single look (Student's t), in log units.
    pub fn half_width(&self, confidence: f64) -> f64 {
        t_two_sided(confidence, self.df) * self.standard_error()
    }

    /// delta as a ratio, B / A, with the interval for a single look.
    pub fn ratio(&self, confidence: f64) -> Estimate {
        let half = self.half_width(confidence);
        let ci = Interval::finite((self.mean - half).exp(), (self.mean + half).exp());
        Estimate { value: self.mean.exp(), ci }
    }

    /// The order effect as a ratio, second / first, with the interval for a single look (Student's t). `None` when the
    /// model has no order effect.
    pub fn place_ratio(&self, confidence: f64) -> Option<Estimate> {
        let place = self.place?;
        // The variance of phi is that of delta, sd^2 (1/n1 + 1/n2) / 4.
        let half = self.half_width(confidence);
        let ci = Interval::finite((place - half).exp(), (place + half).exp());
        Some(Estimate { value: place.exp(), ci })
    }
}

/// The mean of values that are not empty, and the sum of squares around it.
fn around_mean(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum())
}

/// Maximum number of pairs: all draws are enumerated, at most 2^17.
const MOST: usize = 18;
/// Significance level of the test: one in 32, which takes at least six pairs.
pub(super) const LIMIT: f64 = 1.0 / 32.0;

/// Pairs of which each side is first at least once: those before the first look, which could otherwise not separate
/// the sides from their places.
const BOTH_FIRST: usize = LOOKS[0];

/// Whether B runs first in each pair: at random. Of the first four pairs, a draw with the same side first in all of
/// them is drawn again as a whole, so all other draws stay equally likely. To exchange only the last pair would make
/// two of them twice as likely.
///
/// With the same seed, more pairs begin with the fewer ones.
pub fn orders(pairs: usize, seed: u64) -> Vec<bool> {
    let mut redrawn = 0;
    loop {
        let drawn = randomized_blocks(2, redrawn + pairs.max(BOTH_FIRST), seed);
        let mut orders = drawn.into_iter().skip(redrawn).map(|order| order[0] == 1).collect::<Vec<bool>>();
        if orders[..BOTH_FIRST].windows(2).any(|two| two[0] != two[1]) {
            orders.truncate(pairs);
            return orders;
        }
        redrawn += BOTH_FIRST;
    }
}

/// The share of all draws of the order in which the sides are at least as far apart as in the actual one; `None`
/// without pairs, or with more than 18.
///
/// If B is the same as A, second / first of a pair does not depend on which of them the draw calls B (Fisher's
/// randomisation test). The distance of the sides is |sum of s (g - mean g)|, with g = ln(second / first), and s = 1
/// where B ran second and else -1. The mean removes the order effect, and is the same in all draws.
///
/// Draws that [`orders`] rejects are counted too: a share of 1 in 32 is then at most one of 1 in 28 of those that can
/// be drawn.
pub(super) fn share_of_orders(pairs: &[Pair]) -> Option<f64> {
    if pairs.is_empty() || pairs.len() > MOST {
        return None;
    }
    let sign = |pair: &Pair| if pair.b_first { -1.0 } else { 1.0 };
    let by_place: Vec<f64> = pairs.iter().map(|pair| sign(pair) * pair.log_ratio).collect();
    let mean = by_place.iter().sum::<f64>() / by_place.len() as f64;
    let mut sides: Vec<f64> = pairs.iter().zip(&by_place).map(|(pair, g)| sign(pair) * (g - mean)).collect();
    let mut apart: f64 = sides.iter().sum();
    // Values that differ by rounding are equal.
    let made = apart.abs() - 1e-9 * sides.iter().map(|side| side.abs()).sum::<f64>();
    // The other half of the draws are these with the sides exchanged, whose distances are the same.
    let draws = 1_u32 << (pairs.len() - 1);
    let mut as_far = u32::from(apart.abs() >= made);
    for draw in 1..draws {
        // In Gray code order, each draw exchanges one pair of the draw before.
        let exchanged = &mut sides[draw.trailing_zeros() as usize];
        apart -= 2.0 * *exchanged;
        *exchanged = -*exchanged;
        as_far += u32::from(apart.abs() >= made);
    }
    Some(f64::from(as_far) / f64::from(draws))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn pair(log_ratio: f64, b_first: bool) -> Pair {
        Pair { log_ratio, b_first }
    }

    #[test]
    fn the_place_is_separated_from_the_side() {
        // delta 0.02, phi 0.05, no noise: 0.07 with B second, -0.03 with B first.
        let pairs = [pair(0.07, false), pair(-0.03, true), pair(0.07, false), pair(0.07, false)];
        let fit = Fit::of(&pairs).unwrap().unwrap();
        assert!((fit.mean - 0.02).abs() < 1e-12 && (fit.place.unwrap() - 0.05).abs() < 1e-12, "{fit:?}");
        assert!(fit.sd < 1e-12 && (fit.weight - 3.0).abs() < 1e-12);
    }

    /// The normal equations of y = delta + phi x, solved directly.
    #[test]
    fn estimates_are_those_of_least_squares() {
        let values = [(0.031, false), (0.012, true), (-0.004, true), (0.027, false), (0.019, true)];
        let pairs: Vec<Pair> = values.iter().map(|(d, b)| pair(*d, *b)).collect();
        let x = |b_first: bool| -> f64 { if b_first { -1.0 } else { 1.0 } };
        let n = values.len() as f64;
        let (sx, sxx) = values.iter().fold((0.0_f64, 0.0_f64), |(s, ss), (_, b)| (s + x(*b), ss + x(*b).powi(2)));
        let (sy, sxy) = values.iter().fold((0.0, 0.0), |(s, ss), (y, b)| (s + y, ss + y * x(*b)));
        let determinant = n * sxx - sx * sx;
        let (delta, phi) = ((sxx * sy - sx * sxy) / determinant, (n * sxy - sx * sy) / determinant);
        let rest: f64 = values.iter().map(|(y, b)| (y - delta - phi * x(*b)).powi(2)).sum();
        let sd = (rest / (n - 2.0)).sqrt();
        let fit = Fit::of(&pairs).unwrap().unwrap();
        assert!((fit.mean - delta).abs() < 1e-12 && (fit.place.unwrap() - phi).abs() < 1e-12);
        assert!((fit.sd - sd).abs() < 1e-12);
        assert!((fit.standard_error() - sd * (sxx / determinant).sqrt()).abs() < 1e-12);
        let half = t_two_sided(0.95, 3.0) * sd * (n / determinant).sqrt();
        for (found, centre) in [(fit.place_ratio(0.95).unwrap(), phi), (fit.ratio(0.95), delta)] {
            let ci = found.ci.unwrap();
            let ends = [(ci.low, centre - half), (ci.high, centre + half)];
            assert!(ends.iter().all(|(end, expected)| (end - expected.exp()).abs() < 1e-12), "{found:?}");
        }
    }

    #[test]
    fn one_side_first_in_every_pair_estimates_nothing() {
        assert_eq!(Fit::of(&[pair(0.1, true); 9]).unwrap(), None);
        assert_eq!(Fit::of(&[pair(0.1, true), pair(0.1, false)]).unwrap(), None);
        assert!(Fit::of(&[pair(f64::NAN, true)]).is_err());
        assert_eq!(Fit::without_place(&[0.1]).unwrap(), None);
    }

    #[test]
    fn each_side_is_first_before_the_first_look_and_all_such_draws_are_equally_likely() {
        let mut seen = BTreeMap::new();
        for seed in 0..14_000 {
            let drawn = orders(5, seed);
            assert_eq!(orders(2, seed), drawn[..2]);
            *seen.entry(drawn).or_insert(0) += 1;
        }
        assert!(seen.keys().all(|orders| orders[..4].contains(&true) && orders[..4].contains(&false)), "{seen:?}");
        // 500 expected each, standard deviation 22.
        assert!(seen.len() == 28 && seen.values().all(|times| (400..600).contains(times)), "{seen:?}");
    }

    fn pairs(values: &[(f64, bool)]) -> Vec<Pair> {
        values.iter().map(|(log_ratio, b_first)| Pair { log_ratio: *log_ratio, b_first: *b_first }).collect()
    }

    #[test]
    fn sides_apart_in_every_pair_are_one_draw_of_all_whatever_the_place_does() {
        let order = [false, true, true, false, true, false];
        for place in [0.0, 5.0] {
            let apart = order.map(|b_first| (0.1 + if b_first { -place } else { place }, b_first));
            assert_eq!(share_of_orders(&pairs(&apart)), Some(1.0 / 32.0));
            assert_eq!(share_of_orders(&pairs(&apart[..4])), Some(1.0 / 8.0));
        }
    }

    /// By hand: g = 3, -1, -1, -1 minus its mean of 0 with s = 1, -1, 1, 1 gives a distance of 3 + 1 - 1 - 1 = 2. Of
    /// the eight draws up to an exchange of the sides (+++: 0, one of the last three exchanged: 2, two: 4, all: 6)
    /// seven are at least as far.
    #[test]
    fn draws_are_those_counted_by_hand() {
        let found = pairs(&[(3.0, false), (1.0, true), (-1.0, false), (-1.0, false)]);
        assert_eq!(share_of_orders(&found), Some(7.0 / 8.0));
        assert_eq!(share_of_orders(&pairs(&[(0.0, false); 3])), Some(1.0), "nothing differs");
        assert_eq!((share_of_orders(&[]), share_of_orders(&pairs(&[(0.1, true); 19]))), (None, None));
    }
}
