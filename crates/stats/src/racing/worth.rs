//! What each factor is worth, averaged over the other factors.

use super::fit::{Difference, Fit};
use super::rows::Blocks;
use crate::error::{Error, valid_confidence};
use crate::interval::{Estimate, Interval};
use crate::quantiles::t_two_sided;

/// A level of a factor against the level that the winner has.
#[derive(Debug, Clone, PartialEq)]
pub struct Worth {
    /// The factor, by its place.
    pub factor: usize,
    /// The level, by the number that the candidates have for it.
    pub level: usize,
    /// Level / the winner's level, of the metric turned so that above 1 is better: the mean over all pairs of
    /// candidates that differ in this factor alone. The interval holds for all levels of all factors together.
    pub ratio: Estimate,
    /// How many such pairs there are.
    pub pairs: usize,
}

/// What every other level of every factor is worth against the winner's, over `blocks`, in which every candidate ran.
/// `levels` has the level of every factor for every candidate. A level without a pair is left out.
///
/// # Errors
/// [`Error::OutOfRange`] for a confidence outside (0, 1).
pub fn worth(blocks: Blocks<'_>, levels: &[Vec<usize>], winner: usize, confidence: f64) -> Result<Vec<Worth>, Error> {
    valid_confidence(confidence)?;
    let rows = blocks.rows();
    let (Some(fit), Some(best)) = (Fit::of(rows, levels.len()), levels.get(winner)) else { return Ok(Vec::new()) };
    let mut found: Vec<(usize, usize, f64, f64, f64, usize)> = Vec::new();
    for (factor, own) in best.iter().enumerate() {
        let mut others: Vec<usize> = levels.iter().map(|of| of[factor]).filter(|level| level != own).collect();
        others.sort_unstable();
        others.dedup();
        for level in others {
            let (mut sum, mut weights, mut pairs) = (0.0, vec![0.0; levels.len()], 0_u32);
            for (i, mine) in levels.iter().enumerate().filter(|(_, mine)| mine[factor] == level) {
                let twin = |other: &&Vec<usize>| {
                    other[factor] == *own && (0..mine.len()).all(|f| f == factor || other[f] == mine[f])
                };
                let Some(j) = levels.iter().position(|other| twin(&other)) else { continue };
                let Some(difference) = Difference::of(rows, i, j) else { continue };
                sum += difference.mean;
                weights[i] += 1.0;
                weights[j] -= 1.0;
                pairs += 1;
            }
            let count = f64::from(pairs);
            weights.iter_mut().for_each(|weight| *weight /= count);
            if pairs > 0
                && let Some((error, df)) = fit.error_of(&weights, rows)
            {
                found.push((factor, level, sum / count, error, df, pairs as usize));
            }
        }
    }
    let alone = 1.0 - (1.0 - confidence) / found.len().max(1) as f64;
    let worth = |(factor, level, mean, error, df, pairs): (usize, usize, f64, f64, f64, usize)| {
        let half = t_two_sided(alone, df) * error;
        let ci = Interval::finite((mean - half).exp(), (mean + half).exp());
        Worth { factor, level, ratio: Estimate { value: mean.exp(), ci }, pairs }
    };
    Ok(found.into_iter().map(worth).collect())
}

/// By candidate: candidate / `reference` of the metric turned so that above 1 is better, over the blocks that they
/// share, with an interval that holds for all candidates together at one look. None for the reference itself, and
/// without a shared block.
pub fn against(blocks: Blocks<'_>, reference: usize, confidence: f64) -> Vec<Option<Estimate>> {
    let rows = blocks.rows();
    let candidates = blocks.values.first().map_or(0, Vec::len);
    let fit = Fit::of(rows, candidates);
    let share = (1.0 - confidence) / 2.0 / candidates.saturating_sub(1).max(1) as f64;
    let ratio = |i: usize| {
        let of = Difference::of(rows, i, reference).filter(|_| i != reference)?;
        let half = fit.as_ref().map(|fit| fit.half_width(i, reference, of, share));
        let ci = half.and_then(|half| Interval::finite((of.mean - half).exp(), (of.mean + half).exp()));
        Some(Estimate { value: of.mean.exp(), ci })
    };
    (0..candidates).map(ratio).collect()
}
