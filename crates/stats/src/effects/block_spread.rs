//! Tests whether a factor changes the variance when block effects move all trials of a block. The mean of a block over
//! all conditions at one level is removed from these conditions, so that block effects neither hide a difference in
//! variance nor carry over from one level to the other.
//!
//! Of a pair of conditions in the same blocks, a trial is the effect of its block plus an error of its own. The mean
//! of a level in a block is then a single trial, which cannot be separated from the block. But the difference of both
//! trials of a block has no block effect, and the slope of the regression of the high level's trials on these
//! differences is the share of that level's errors in their variance: v_high / (v_high + v_low) (Grubbs, "On
//! estimating precision of measuring instruments and product variability", Journal of the American Statistical
//! Association 43, 1948).

use super::design::Cell;
use super::spread_test::SpreadTest;
use crate::descriptive::{mean, median, std_dev, variance};
use crate::quantiles::{f_upper_tail, t_two_sided, t_upper_tail};
use std::collections::HashMap;

/// Block effects are removed for the test when they are significant at this level: removing them takes half of the
/// information of two conditions per level, and is not needed when blocks do not differ.
pub(super) const DIFFER: f64 = 0.1;
/// Level for the ratio and its interval: block effects that are not removed bias the ratio towards 1.
const MAY_DIFFER: f64 = 0.5;
/// The same with one condition per level, where a noisy one hides the blocks from the test.
const PAIR_MAY_DIFFER: f64 = 0.8;
/// Fewest complete blocks from which a conclusion is drawn.
const FEWEST: usize = 3;

/// The result of the analysis by blocks for one factor.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BlockSpread {
    /// For each metric: logarithm of the ratio of the variances, high level divided by low level, the variance of this
    /// logarithm and the degrees of freedom of that variance, from a jackknife over blocks. Without metrics whose
    /// ratio cannot be separated from the blocks.
    pub ratios: Vec<(f64, f64, f64)>,
    /// Number of conditions per level.
    pairs: usize,
    /// The test of equal variances, by blocks; not adjusted.
    pub test: SpreadTest,
}

impl BlockSpread {
    /// Whether the ratio is used, if blocks are equal with this p-value.
    pub fn is_used(&self, chance: f64) -> bool {
        chance <= if self.pairs == 1 { PAIR_MAY_DIFFER } else { MAY_DIFFER }
    }
}

/// Values of the cells in complete blocks, `[block][cell]`; `blocks` holds the blocks of each cell's trials.
fn whole(cells: &[&Cell], blocks: &[&[usize]]) -> Vec<Vec<f64>> {
    let places: Vec<HashMap<usize, usize>> =
        blocks.iter().map(|own| own.iter().enumerate().rev().map(|(place, block)| (*block, place)).collect()).collect();
    let of_block = |block: &usize| {
        let value = |(cell, places): (&&Cell, &HashMap<usize, usize>)| cell.trials.get(*places.get(block)?).copied();
        cells.iter().zip(&places).map(value).collect::<Option<Vec<f64>>>()
    };
    blocks.first().map_or(Vec::new(), |first| first.iter().filter_map(of_block).collect())
}

/// p-value of no block effects, averaged over the metrics: the F test of the additive model. Each condition is divided
/// by its standard deviation, because a noisy condition would hide effects that the others share. 1 when there are too
/// few values.
pub(super) fn blocks_differ(metrics: &[Vec<Cell>], blocks: &[Vec<usize>]) -> f64 {
    let blocks: Vec<&[usize]> = blocks.iter().map(Vec::as_slice).collect();
    let mut sum: Vec<Vec<f64>> = Vec::new();
    for cells in metrics.iter().filter(|cells| cells.len() == blocks.len()) {
        let values = whole(&cells.iter().collect::<Vec<_>>(), &blocks);
        let Some(left) = in_deviations(&values) else { continue };
        if sum.is_empty() {
            sum = left.iter().map(|block| vec![0.0; block.len()]).collect();
        }
        if sum.len() == left.len() {
            sum.iter_mut().flatten().zip(left.into_iter().flatten()).for_each(|(sum, v)| *sum += v);
        }
    }
    let (b, k) = (sum.len() as f64, sum.first().map_or(0.0, |block| block.len() as f64));
    if sum.len() < FEWEST || k < 2.0 {
        return 1.0;
    }
    let all: f64 = sum.iter().flatten().map(|v| v * v).sum();
    let of_blocks: f64 = sum.iter().map(|block| block.iter().sum::<f64>().powi(2) / k).sum();
    let rest = (all - of_blocks) / ((b - 1.0) * (k - 1.0));
    if rest > 0.0 { f_upper_tail(of_blocks / (b - 1.0) / rest, b - 1.0, (b - 1.0) * (k - 1.0)) } else { 0.0 }
}

/// One statistic per cell, of its values in all blocks.
fn of_cells(values: &[Vec<f64>], figure: impl Fn(&[f64]) -> Option<f64>) -> Option<Vec<f64>> {
    let column = |cell: usize| values.iter().map(|block| block[cell]).collect::<Vec<_>>();
    (0..values.first()?.len()).map(|cell| figure(&column(cell))).collect()
}

/// Subtracts each cell's mean.
fn without_cells(values: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let means = of_cells(values, mean)?;
    Some(values.iter().map(|block| block.iter().zip(&means).map(|(v, mean)| v - mean).collect()).collect())
}

/// [`without_cells`], with each cell divided by its standard deviation.
fn in_deviations(values: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let spread = of_cells(values, |cell| std_dev(cell).filter(|s| *s > 0.0))?;
    let left = without_cells(values)?;
    Some(left.iter().map(|block| block.iter().zip(&spread).map(|(v, s)| v / s).collect()).collect())
}

/// Analyses one factor, from the conditions that differ only in it. `None` without a pair of such conditions, or with
/// too few complete blocks.
pub(super) fn of_factor(
    metrics: &[Vec<Cell>],
    blocks: &[Vec<usize>],
    factor: usize,
    confidence: f64,
) -> Option<BlockSpread> {
    let first = metrics.first()?;
    let partner = |cell: &Cell| {
        let mut low = cell.levels.clone();
        low[factor] = false;
        first.iter().position(|other| other.levels == low)
    };
    let highs = (0..first.len()).filter(|cell| first[*cell].levels[factor]);
    let (highs, lows): (Vec<usize>, Vec<usize>) = highs.filter_map(|high| Some((high, partner(&first[high])?))).unzip();
    let pairs = highs.len();
    if pairs == 0 || blocks.len() != first.len() {
        return None;
    }
    let both: Vec<usize> = highs.iter().chain(&lows).copied().collect();
    let of: Vec<&[usize]> = both.iter().map(|cell| blocks[*cell].as_slice()).collect();
    let mut ratios = Vec::new();
    let mut sums = [Vec::new(), Vec::new()];
    for cells in metrics.iter().filter(|cells| cells.len() == first.len()) {
        let cells: Vec<&Cell> = both.iter().map(|cell| &cells[*cell]).collect();
        let values = whole(&cells, &of);
        let half = |from: usize| -> Vec<Vec<f64>> { values.iter().map(|b| own(&b[from..from + pairs])).collect() };
        let (high, low) = (half(0), half(pairs));
        ratios.extend(if pairs == 1 {
            ratio_of_pairs(&high.concat(), &low.concat(), confidence)
        } else {
            ratio(&high, &low)
        });
        let own = [distances(&high)?, distances(&low)?];
        let Some(scale) = mean(&own.concat()).filter(|scale| *scale > 0.0) else { continue };
        for (sums, own) in sums.iter_mut().zip(own) {
            sums.resize(own.len(), 0.0);
            sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own / scale);
        }
    }
    let has_zeros = metrics.len() == 1 && pairs == 2;
    let test = if pairs == 1 { pairs_differ(sums) } else { differ(sums, has_zeros) }?;
    (pairs == 1 || !ratios.is_empty()).then_some(BlockSpread { ratios, pairs, test })
}

/// Brown & Forsythe's test of the distances of two levels. With an odd number of blocks the smallest
/// distance is left out where it is 0 by construction (see [`super::spread_test`]).
fn differ(mut distances: [Vec<f64>; 2], has_zeros: bool) -> Option<SpreadTest> {
    for own in &mut distances {
        own.sort_by(f64::total_cmp);
        if has_zeros && own.len() % 2 == 1 {
            own.remove(0);
        }
    }
    let [high, low] = distances;
    let n = high.len() as f64;
    let error = ((variance(&high)? + variance(&low)?) / n).sqrt();
    let t = (mean(&high)? - mean(&low)?) / error;
    let p_value = || (2.0 * t_upper_tail(t.abs(), 2.0 * n - 2.0)).min(1.0);
    (high.len() + 1 >= FEWEST && error > 0.0).then(|| SpreadTest { p_value: p_value(), up: t > 0.0 })
}

/// The trials of one level in a block, minus their mean; a single trial as it is.
fn own(values: &[f64]) -> Vec<f64> {
    if let [_] = values {
        return values.to_vec();
    }
    let centre = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|v| v - centre).collect()
}

/// Mean distance of each block's trials from the medians of their cells.
fn distances(values: &[Vec<f64>]) -> Option<Vec<f64>> {
    let medians = of_cells(values, median)?;
    values.iter().map(|b| mean(&b.iter().zip(&medians).map(|(v, m)| (v - m).abs()).collect::<Vec<_>>())).collect()
}

/// ln of the ratio of the residual variances, its variance, and the degrees of freedom of that variance.
fn ratio(high: &[Vec<f64>], low: &[Vec<f64>]) -> Option<(f64, f64, f64)> {
    let blocks = high.len();
    let ln = ln_ratio(high, low).filter(|_| blocks >= FEWEST)?;
    let others = |left_out: usize, level: &[Vec<f64>]| -> Vec<Vec<f64>> {
        level.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, block)| block.clone()).collect()
    };
    let without = |out: usize| ln_ratio(&others(out, high), &others(out, low));
    let logs: Vec<f64> = (0..blocks).map(without).collect::<Option<_>>()?;
    let n = blocks as f64;
    let error = (n - 1.0).powi(2) / n * variance(&logs)?;
    Some((ln, error, n - 1.0))
}

/// ln of the ratio of the residual sums of squares of two levels.
fn ln_ratio(high: &[Vec<f64>], low: &[Vec<f64>]) -> Option<f64> {
    let squares = |level: &[Vec<f64>]| Some(without_cells(level)?.iter().flatten().map(|v| v * v).sum::<f64>());
    let ln = (squares(high)? / squares(low)?).ln();
    ln.is_finite().then_some(ln)
}

/// ln of the ratio of the variances without block effects, high level divided by low level, its variance and the
/// degrees of freedom of that variance. The variance is infinite where the interval of the share is not within 0 and 1:
/// there is then no limit of the ratio. The share is at least one standard error from 0 and 1, so that a quiet level
/// without any estimated variance is not "infinitely" quieter. `None` where the share is not known to a half.
///
/// The standard error is that for unequal variances, HC3 (MacKinnon and White, Journal of Econometrics 29, 1985): the
/// slope of heavy-tailed errors varies more than that of normal ones.
fn ratio_of_pairs(high: &[f64], low: &[f64], confidence: f64) -> Option<(f64, f64, f64)> {
    let n = high.len() as f64;
    if high.len() < FEWEST {
        return None;
    }
    let (centre, centre_low) = (mean(high)?, mean(low)?);
    let pairs: Vec<(f64, f64)> =
        high.iter().zip(low).map(|(high, low)| (high - centre, high - centre - (low - centre_low))).collect();
    let squares: f64 = pairs.iter().map(|(_, apart)| apart * apart).sum();
    let share = pairs.iter().map(|(own, apart)| own * apart).sum::<f64>() / squares;
    let left = |(own, apart): &(f64, f64)| {
        let weight = 1.0 / n + apart * apart / squares;
        (apart * (own - share * apart) / (1.0 - weight).max(f64::EPSILON)).powi(2)
    };
    let error = pairs.iter().map(left).sum::<f64>().sqrt() / squares;
    if !(error < 0.5 && share.is_finite()) {
        return None;
    }
    let half = t_two_sided(confidence, n - 2.0) * error;
    let has_limits = share - half > 0.0 && share + half < 1.0;
    let share = share.clamp(error, 1.0 - error);
    let variance = if has_limits { (error / (share * (1.0 - share))).powi(2) } else { f64::INFINITY };
    let ln = (share / (1.0 - share)).ln();
    ln.is_finite().then_some((ln, variance, n - 2.0))
}

/// Brown & Forsythe's test of these distances from the medians, block by block: the distances of a block share its
/// effect.
fn pairs_differ([high, low]: [Vec<f64>; 2]) -> Option<SpreadTest> {
    let apart: Vec<f64> = high.iter().zip(&low).map(|(high, low)| high - low).collect();
    let n = apart.len() as f64;
    let error = std_dev(&apart)? / n.sqrt();
    let t = mean(&apart)? / error;
    let p_value = || (2.0 * t_upper_tail(t.abs(), n - 1.0)).min(1.0);
    (apart.len() >= FEWEST && error > 0.0).then(|| SpreadTest { p_value: p_value(), up: t > 0.0 })
}
