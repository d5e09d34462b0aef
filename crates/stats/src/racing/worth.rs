//! The effect of each factor, averaged over the other factors.

use super::even::{Even, MeanDifference, ratio};
use super::rows::Blocks;
use crate::error::{Error, valid_confidence};
use crate::interval::{Estimate, Interval};
use crate::quantiles::t_two_sided;

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
