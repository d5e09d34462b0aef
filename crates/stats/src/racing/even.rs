//! Differences between two candidates, without the trials in which a disturbance affected one of them alone and without
//! the limits that failures of one of them alone leave open, and the effect of each factor from them.

use super::fit::{Blocks, Difference, Fit, Rows};
use crate::error::{Error, valid_confidence};
use crate::interval::{Estimate, Interval};
use crate::quantiles::{t, t_two_sided};
use crate::ratio::Rounding;
use crate::sequential::{FEWEST_PAIRS, is_one_sided};

/// One-sided error of the intervals by which the two parts are compared.
const TAIL: f64 = 0.01;

/// The blocks split into two parts: trials without and trials with a disturbance. Each part has its own variance.
pub(super) struct Even<'a> {
    all: Blocks<'a>,
    parts: Vec<Part>,
}

struct Part {
    values: Vec<Vec<Option<f64>>>,
    fit: Fit,
}

/// y_i - y_j, from the part with the narrower interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Compared {
    pub mean: f64,
    pub standard_error: f64,
    pub df: f64,
    /// By how much rounding may have moved the mean.
    pub slack: f64,
    /// For the lower and the upper limit: whether there is none. Of a candidate that was disturbed alone more often
    /// than the other alone it is not known how much better it is: it may have lost time to unnoticed disturbances too,
    /// in any of its trials. Of one that failed alone more often it is not known how much worse it is: its other trials
    /// may be a selection of the fast ones.
    pub open: [bool; 2],
}

/// The average difference of pairs of candidates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MeanDifference {
    pub mean: f64,
    /// Infinite when no conclusion is possible.
    pub standard_error: f64,
    pub df: f64,
    pub pairs: usize,
}

impl Compared {
    /// The limits of an interval, each with the one-sided error `share`; infinite when no conclusion is possible.
    pub fn ends(&self, share: f64) -> (f64, f64) {
        let half = self.half_width(share);
        let [no_low, no_high] = self.open;
        let low = if no_low { f64::NEG_INFINITY } else { self.mean - half };
        (low, if no_high { f64::INFINITY } else { self.mean + half })
    }

    fn half_width(&self, share: f64) -> f64 {
        t(1.0 - share, self.df) * self.standard_error + self.slack
    }
}

impl<'a> Even<'a> {
    /// A part without degrees of freedom is not used.
    pub fn of(all: Blocks<'a>, candidates: usize) -> Self {
        let part = |disturbed: bool| {
            let kept = |block: usize, i: usize, y: Option<f64>| y.filter(|_| all.is_disturbed(block, i) == disturbed);
            let of = |(block, of): (usize, &Vec<Option<f64>>)| {
                of.iter().enumerate().map(|(i, y)| kept(block, i, *y)).collect()
            };
            let values: Vec<Vec<Option<f64>>> = all.values.iter().enumerate().map(of).collect();
            Fit::of(Rows { values: &values, servers: all.servers }, candidates).map(|fit| Part { values, fit })
        };
        let parts = [false, true].into_iter().filter_map(part).collect();
        Self { all, parts }
    }

    /// `None` when the two share no usable block.
    pub fn difference(&self, i: usize, j: usize) -> Option<Compared> {
        let exceeds = |i: usize, j: usize| self.is_one_sided(j, i) || self.may_fail_more(i, j);
        let open = [exceeds(i, j), exceeds(j, i)];
        let [a, b] = [i, j].map(|of| self.all.hidden.get(of).copied().unwrap_or_default());
        let Rounding { error, slack } = a.plus(b);
        let of = |part: &Part| {
            let of = Difference::of(self.rows(part), i, j)?;
            let (standard_error, df) = part.fit.standard_error(i, j, of)?;
            // Trials that are all equal by rounding are no certainty.
            let least = error / ((of.apart + of.within) as f64).sqrt();
            Some(Compared { mean: of.mean, standard_error: standard_error.max(least), df, slack, open })
        };
        let mut found = self.parts.iter().filter_map(of);
        let (first, second) = (found.next()?, found.next());
        let is_narrower = |other: &Compared| other.half_width(TAIL) < first.half_width(TAIL);
        Some(second.filter(is_narrower).unwrap_or(first))
    }

    /// Over the pairs that share a block; `None` without one.
    pub fn mean_of(&self, pairs: &[(usize, usize)]) -> Option<MeanDifference> {
        let known = pairs.iter().filter_map(|(i, j)| Some((*i, *j, self.difference(*i, *j)?)));
        let known: Vec<(usize, usize, Compared)> = known.collect();
        let count = (!known.is_empty()).then_some(known.len() as f64)?;
        let mean = known.iter().map(|(.., of)| of.mean).sum::<f64>() / count;
        let (standard_error, df) = match self.parts.as_slice() {
            _ if known.iter().any(|(.., of)| of.open.contains(&true)) => (f64::INFINITY, 1.0),
            [part] => {
                let mut weights = vec![0.0; part.values.first()?.len()];
                known.iter().for_each(|(i, j, _)| {
                    weights[*i] += 1.0 / count;
                    weights[*j] -= 1.0 / count;
                });
                part.fit.error_of(&weights, self.rows(part))?
            }
            // With several parts, the covariance of the pairs through their servers is not known: the pairs are taken
            // as fully correlated.
            parts => {
                let of_all = match parts.iter().any(|part| part.fit.knows_servers()) {
                    true => known.iter().map(|(.., of)| of.standard_error).sum::<f64>(),
                    false => known.iter().map(|(.., of)| of.standard_error.powi(2)).sum::<f64>().sqrt(),
                };
                (of_all / count, known.iter().map(|(.., of)| of.df).fold(f64::INFINITY, f64::min))
            }
        };
        Some(MeanDifference { mean, standard_error, df, pairs: known.len() })
    }

    fn rows<'b>(&'b self, part: &'b Part) -> Rows<'b> {
        Rows { values: &part.values, servers: self.all.servers }
    }

    /// Number of blocks in which both ran.
    pub fn ran(&self, i: usize, j: usize) -> usize {
        self.both(i, j).count()
    }

    /// Residual variance of one trial.
    pub fn variance(&self) -> Option<f64> {
        self.parts.first().and_then(|part| part.fit.variance())
    }

    /// Whether i was disturbed alone more often than j alone.
    pub fn is_one_sided(&self, i: usize, j: usize) -> bool {
        is_one_sided(self.alone(i, j), self.alone(j, i))
    }

    fn alone(&self, i: usize, j: usize) -> usize {
        self.both(i, j).filter(|block| self.all.is_disturbed(*block, i) && !self.all.is_disturbed(*block, j)).count()
    }

    /// Whether attempts of i alone are shown to fail more often than those of j alone.
    pub fn fails_more(&self, i: usize, j: usize) -> bool {
        is_one_sided(self.failed_alone(i, j), self.failed_alone(j, i))
    }

    /// Whether they may: in fewer blocks than the pairs that show a change of two sides, the test could hardly show it,
    /// so one failure more counts.
    fn may_fail_more(&self, i: usize, j: usize) -> bool {
        let few = self.have_run(i, j).count() < FEWEST_PAIRS;
        self.fails_more(i, j) || few && self.failed_alone(i, j) > self.failed_alone(j, i)
    }

    fn failed_alone(&self, i: usize, j: usize) -> usize {
        self.have_run(i, j).filter(|block| self.all.is_failed(*block, i) && !self.all.is_failed(*block, j)).count()
    }

    /// The blocks in which both took part, with results or without.
    fn have_run(&self, i: usize, j: usize) -> impl Iterator<Item = usize> {
        let all = self.all;
        (0..all.values.len()).filter(move |block| all.has_run(*block, i) && all.has_run(*block, j))
    }

    fn both(&self, i: usize, j: usize) -> impl Iterator<Item = usize> {
        let has = move |(block, of): (usize, &Vec<Option<f64>>)| (of[i].is_some() && of[j].is_some()).then_some(block);
        self.all.values.iter().enumerate().filter_map(has)
    }
}

/// exp(y_i - y_j) with its interval. When no block is usable, the estimate from all blocks, without an interval.
pub(super) fn ratio(even: &Even<'_>, [i, j]: [usize; 2], share: f64) -> Option<Estimate> {
    let Some(found) = even.difference(i, j) else {
        return Difference::of(even.all.rows(), i, j).map(|of| Estimate { value: of.mean.exp(), ci: None });
    };
    let (low, high) = found.ends(share);
    let ci = Interval::finite(low, high).and_then(|ci| Interval::finite(ci.low.exp(), ci.high.exp()));
    Some(Estimate { value: found.mean.exp(), ci })
}

/// A level of a factor compared with the winner's level.
#[derive(Debug, Clone, PartialEq)]
pub struct Worth {
    /// The index of the factor.
    pub factor: usize,
    /// The level, by its number in `levels`.
    pub level: usize,
    /// Level / the winner's level, of the metric oriented so that above 1 is better: the mean over all pairs of
    /// candidates that differ only in this factor. The interval is simultaneous over all levels of all factors.
    pub ratio: Estimate,
    /// The number of such pairs.
    pub pairs: usize,
}

/// Compares every other level of every factor with the winner's, over `blocks` in which every candidate ran. `levels`
/// holds the level of every factor for every candidate. A level without a pair is left out.
///
/// # Errors
/// [`Error::OutOfRange`] for a confidence outside (0, 1).
pub fn worth(blocks: Blocks<'_>, levels: &[Vec<usize>], winner: usize, confidence: f64) -> Result<Vec<Worth>, Error> {
    valid_confidence(confidence)?;
    let Some(best) = levels.get(winner) else { return Ok(Vec::new()) };
    let even = Even::of(blocks, levels.len());
    let mut found = Vec::new();
    for (factor, own) in best.iter().enumerate() {
        let mut others: Vec<usize> = levels.iter().map(|of| of[factor]).filter(|level| level != own).collect();
        others.sort_unstable();
        others.dedup();
        for level in others {
            // The candidate that differs only in this factor, for which it has the winner's level.
            let twin = |mine: &[usize]| {
                let is_twin = |(f, level): (usize, &usize)| *level == if f == factor { *own } else { mine[f] };
                levels.iter().position(|other| other.iter().enumerate().all(is_twin))
            };
            let of_level = (0..levels.len()).filter(|i| levels[*i][factor] == level);
            let pairs: Vec<(usize, usize)> = of_level.filter_map(|i| Some((i, twin(&levels[i])?))).collect();
            found.extend(even.mean_of(&pairs).map(|mean| (factor, level, mean)));
        }
    }
    let alone = 1.0 - (1.0 - confidence) / found.len().max(1) as f64;
    let worth = |(factor, level, of): (usize, usize, MeanDifference)| {
        let half = t_two_sided(alone, of.df) * of.standard_error;
        let ci = Interval::finite((of.mean - half).exp(), (of.mean + half).exp());
        Worth { factor, level, ratio: Estimate { value: of.mean.exp(), ci }, pairs: of.pairs }
    };
    Ok(found.into_iter().map(worth).collect())
}

/// By candidate: candidate / `reference` of the metric, oriented so that above 1 is better, over the blocks that they
/// share, with an interval that is simultaneous over all candidates at one look. `None` for the reference itself, and
/// without a shared block.
pub fn against(blocks: Blocks<'_>, reference: usize, confidence: f64) -> Vec<Option<Estimate>> {
    let candidates = blocks.values.first().map_or(0, Vec::len);
    let even = Even::of(blocks, candidates);
    let share = (1.0 - confidence) / 2.0 / candidates.saturating_sub(1).max(1) as f64;
    let others = |i: usize| ratio(&even, [i, reference], share).filter(|_| i != reference);
    (0..candidates).map(others).collect()
}
