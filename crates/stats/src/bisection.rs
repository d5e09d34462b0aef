//! Finds the first slower commit of a range from noisy pairs, by probabilistic bisection.
//!
//! Builds have positions 0 (good) to `last` (bad). One of the commits 1..=`last` made all builds from its position on
//! slower by the same unknown ratio. Plain bisection halves the remaining range with each answer, so that one wrong
//! answer loses the commit. Here each pair of trials updates the probability of every commit ([`chances()`]). The next
//! pair is the one that splits the probabilities most evenly (Horstein, IEEE Trans. Inf. Theory 9, 1963; Waeber,
//! Frazier & Henderson, SIAM J. Control Optim. 51, 2013). The search ends when one commit has the requested probability
//! ([`next()`]).
//!
//! Horstein's method assumes answers that are correct with a known probability. Pairs carry more information than that:
//! their likelihood under each commit has a closed form in which the size of the step, the standard deviation and the
//! order effect within a pair are unknown. So the evidence from a build without a clear result is used, and no error
//! rate of answers has to be assumed.
//!
//! Most pairs compare a build with the good one: such a pair can split the range anywhere, and all of them estimate the
//! same step. A pair of neighbouring builds is informative only if the step lies between them, so neighbours are paired
//! once one commit has about half of the probability. This follows from the same rule.

use super::error::{Error, all_finite};
use super::order::{below, generator};
use super::quantiles::normal;
use super::sequential::{Pair, Question, Verdict, decide};
use rand_xoshiro::rand_core::Rng;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Prior information on the order effect (whether a build ran first or second in a pair), in units of pairs.
/// Negligible, but it keeps the equations regular when the same side ran first in all pairs of a build.
const OF_PLACE: f64 = 0.01;
/// Lower limit of the residual sum of squares, as a share of the total: with residuals of 0 the likelihood would be
/// infinite.
const NOTHING: f64 = 1e-18;

/// A pair of two builds of the range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BuildPair {
    /// Position of build A.
    pub a: usize,
    /// Position of build B.
    pub b: usize,
    /// ln(B / A) of their run times, so that above 0 means that B is slower, and which ran first.
    pub pair: Pair,
}

/// The probability of each commit 1..=`last` to be the first slower one, in this order; they sum to 1. Before the first
/// pair all are equal.
///
/// With s = \[b >= k\] - \[a >= k\] and x = +1/2 where B ran second, -1/2 where it ran first, the model of commit k is
/// y = delta s + phi x + a normal error of unknown standard deviation sigma. With flat priors on delta and ln sigma,
/// and phi ~ N(0, sigma^2 / 0.01), the likelihood of k is |X'X + L|^(-1/2) RSS^(-(n - 1) / 2), where L is the prior
/// information on phi and RSS = y'y - y'X (X'X + L)^-1 X'y.
///
/// # Errors
/// [`Error::NotFinite`] for a log ratio that is not finite.
pub fn chances(last: usize, seen: &[BuildPair]) -> Result<Vec<f64>, Error> {
    let values: Vec<f64> = seen.iter().map(|seen| seen.pair.log_ratio).collect();
    all_finite("log ratios of pairs", &values)?;
    let logs: Vec<f64> = (1..=last).map(|commit| likelihood(commit, seen)).collect();
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|log| (log - most).exp()).collect();
    let all: f64 = weights.iter().sum();
    Ok(weights.into_iter().map(|weight| weight / all).collect())
}

/// The logarithm of the likelihood that `commit` is the first slower one; 0 with fewer than two pairs, or when no pair
/// has this commit between its builds.
fn likelihood(commit: usize, seen: &[BuildPair]) -> f64 {
    let (mut ss, mut sx, mut xx, mut sy, mut xy, mut yy) = (0.0, 0.0, OF_PLACE, 0.0, 0.0, 0.0);
    for BuildPair { a, b, pair } in seen {
        let s = f64::from(u8::from(*b >= commit)) - f64::from(u8::from(*a >= commit));
        let x = if pair.b_first { -0.5 } else { 0.5 };
        let y = pair.log_ratio;
        (ss, sx, xx) = (ss + s * s, sx + s * x, xx + x * x);
        (sy, xy, yy) = (sy + s * y, xy + x * y, yy + y * y);
    }
    let determinant = ss * xx - sx * sx;
    if determinant <= 0.0 || seen.len() < 2 {
        return 0.0;
    }
    let explained = (xx * sy * sy - 2.0 * sx * sy * xy + ss * xy * xy) / determinant;
    let left = (yy - explained).max(NOTHING * yy).max(f64::MIN_POSITIVE);
    -0.5 * determinant.ln() - 0.5 * (seen.len() - 1) as f64 * left.ln()
}

/// A split of builds that both exist is preferred if it is worse than the best split by at most this much.
const AS_GOOD: f64 = 0.05;

/// Commits that cannot be distinguished, because those between cannot be built; mostly one commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Positions of its commits; the build before the first and the build of the last can be measured.
    pub commits: RangeInclusive<usize>,
    /// The probability that the first slower commit is in the cell.
    pub chance: f64,
}

/// The next action of the search.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Measure pairs of these two builds.
    Pairs {
        /// Position of build A.
        a: usize,
        /// Position of build B.
        b: usize,
    },
    /// One cell has the requested probability.
    Found(Cell),
}

/// Groups the commits into cells that builds can distinguish. `usable` says for each position from 0 whether it has a
/// build, or may have one; both ends are taken to have one.
pub fn cells(chances: &[f64], usable: &[bool]) -> Vec<Cell> {
    let mut all = Vec::new();
    let mut from = 1;
    for place in 1..=chances.len() {
        if place == chances.len() || usable.get(place).copied().unwrap_or(true) {
            let chance = chances[from - 1..place].iter().sum();
            all.push(Cell { commits: from..=place, chance });
            from = place + 1;
        }
    }
    all
}

/// The pair of builds that splits the probabilities most evenly: a build with the good one, or the two builds around a
/// cell. Among splits that are nearly as good as the best, one whose two builds exist (`built`) comes first.
pub fn next(chances: &[f64], usable: &[bool], built: &[bool], confidence: f64) -> Next {
    let cells = cells(chances, usable);
    let best = cells.iter().max_by(|a, b| a.chance.total_cmp(&b.chance));
    if let Some(best) = best.filter(|best| best.chance >= confidence || cells.len() == 1) {
        return Next::Found(best.clone());
    }
    let mut splits: Vec<(f64, usize, usize)> = Vec::new();
    let mut before = 0.0;
    for cell in &cells {
        before += cell.chance;
        let (a, b) = (cell.commits.start() - 1, *cell.commits.end());
        // Splits the range between its good end and this build; a split after the last build says nothing.
        if b < chances.len() {
            splits.push(((before - 0.5).abs(), 0, b));
        }
        if a > 0 {
            splits.push(((cell.chance - 0.5).abs(), a, b));
        }
    }
    let there = |place: usize| built.get(place).copied().unwrap_or(false);
    let least = splits.iter().map(|split| split.0).fold(f64::INFINITY, f64::min);
    let near = splits.iter().filter(|split| split.0 <= least + AS_GOOD && there(split.1) && there(split.2));
    let chosen = near.min_by(|a, b| a.0.total_cmp(&b.0)).or_else(|| splits.iter().find(|split| split.0 <= least));
    match chosen {
        Some((_, a, b)) => Next::Pairs { a: *a, b: *b },
        None => Next::Found(Cell { commits: 1..=chances.len(), chance: 1.0 }),
    }
}

/// Pairs of two builds that are measured before the probabilities are updated: a smaller number needs more builds, a
/// larger one more pairs.
pub const BATCH: usize = 3;
/// Pairs of two builds after which a simulation without a decision takes them as not different.
const MOST_OF_TWO: usize = 200;
/// Pairs after which a simulated search stops without a result.
const MOST: usize = 2000;

/// The parameters of a bisection that is simulated.
#[derive(Debug, Clone)]
pub struct Planned {
    /// Whether each position from 0 can be built.
    pub usable: Vec<bool>,
    /// Size of the step, ln(slower / faster).
    pub step: f64,
    /// Standard deviation of the log ratio of a pair.
    pub sd: f64,
    /// The question and the rule that decide whether the ends differ, and whether the build before the found commit and
    /// that commit do.
    pub question: Question,
    /// Number of pairs per batch.
    pub batch: usize,
    /// The probability at which the search ends.
    pub confidence: f64,
}

/// The effort and the result of a bisection.
#[derive(Debug, Clone, PartialEq)]
pub struct Effort {
    /// Pairs of trials, including those of the two ends and of the step.
    pub pairs: usize,
    /// Builds, including both ends and those that failed.
    pub builds: usize,
    /// The cell that was found; `None` when the ends or the step were not shown to differ, or the search was given up.
    pub found: Option<Cell>,
}

/// Simulates one bisection on pairs with normal errors, with the step at commit `first`.
///
/// # Errors
/// As [`decide`].
pub fn effort(planned: &Planned, first: usize, seed: u64) -> Result<Effort, Error> {
    let last = planned.usable.len() - 1;
    let mut rng = generator(seed);
    let mut draw = |a: usize, b: usize| {
        let uniform = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let error = planned.sd * normal(uniform.clamp(1e-12, 1.0 - 1e-12));
        let slower = f64::from(u8::from(b >= first)) - f64::from(u8::from(a >= first));
        BuildPair { a, b, pair: Pair { log_ratio: slower * planned.step + error, b_first: below(&mut rng, 2) == 1 } }
    };
    let mut seen = Vec::new();
    let ends_differ = is_slower(&planned.question, &mut seen, || draw(0, last))?;
    let (mut usable, mut built) = (vec![true; last + 1], vec![false; last + 1]);
    (built[0], built[last]) = (true, true);
    let mut tried = 2;
    let mut steps: BTreeMap<(usize, usize), bool> = BTreeMap::new();
    let mut found = None;
    while ends_differ && seen.len() < MOST {
        let (cell, [a, b]) = match next(&chances(last, &seen)?, &usable, &built, planned.confidence) {
            Next::Pairs { a, b } => (None, [a, b]),
            Next::Found(cell) => {
                let around = [cell.commits.start() - 1, *cell.commits.end()];
                (Some(cell), around)
            }
        };
        if let (Some(cell), Some(is_slower)) = (&cell, steps.get(&(a, b))) {
            found = Some(cell.clone()).filter(|_| *is_slower);
            break;
        }
        for place in [a, b] {
            tried += usize::from(usable[place] && !built[place]);
            (usable[place], built[place]) = (planned.usable[place], planned.usable[place]);
        }
        if built[a] && built[b] {
            if cell.is_some() {
                steps.insert((a, b), is_slower(&planned.question, &mut seen, || draw(a, b))?);
            } else {
                seen.extend((0..planned.batch).map(|_| draw(a, b)));
            }
        }
    }
    Ok(Effort { pairs: seen.len(), builds: tried, found })
}

/// Adds pairs of two builds until it is decided whether B is slower.
fn is_slower(
    question: &Question,
    seen: &mut Vec<BuildPair>,
    mut draw: impl FnMut() -> BuildPair,
) -> Result<bool, Error> {
    let mut own: Vec<Pair> = Vec::new();
    loop {
        let drawn = draw();
        own.push(drawn.pair);
        seen.push(drawn);
        let over = question.rule.most_pairs().unwrap_or(MOST_OF_TWO) == own.len();
        let found = decide(&own, question, over)?;
        if over || found.verdict != Verdict::Undecided {
            return Ok(found.verdict == Verdict::Changed && found.ratio.is_some_and(|ratio| ratio > 1.0));
        }
    }
}

#[cfg(test)]
#[path = "bisection_tests.rs"]
mod tests;
