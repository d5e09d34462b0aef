//! Does a factor change the spread, where blocks move all trials of theirs: what a block does to all conditions at one
//! level is taken out of these, so that it neither hides a spread nor passes from one level to the other.

use super::design::Cell;
use crate::descriptive::{mean, median, std_dev, variance};
use crate::quantiles::{f_upper_tail, t_upper_tail};
use std::collections::HashMap;

/// Blocks are taken out of the test where they are shown to differ at this chance: it costs half of what two conditions
/// a level tell, and where they do not differ there is nothing to take out.
pub(super) const DIFFER: f64 = 0.1;
/// Out of the ratio and its interval already at this one: blocks that are left in draw the ratio towards 1.
pub(super) const MAY_DIFFER: f64 = 0.5;
/// Fewest whole blocks of which anything is said.
const FEWEST: usize = 3;

/// What blocks tell of one factor.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BlockSpread {
    /// Logarithm of the ratio of the variances, high level over low one, of each metric, with its variance and the
    /// degrees of freedom of that: jackknifed over blocks.
    pub ratios: Vec<(f64, f64, f64)>,
    /// Chance of such a difference where the spread is one, by blocks; not adjusted.
    pub p_value: f64,
}

/// Values of the cells in whole blocks, `[block][cell]`; `blocks` are those of each cell's trials.
fn whole(cells: &[&Cell], blocks: &[&[usize]]) -> Vec<Vec<f64>> {
    let places: Vec<HashMap<usize, usize>> =
        blocks.iter().map(|own| own.iter().enumerate().rev().map(|(place, block)| (*block, place)).collect()).collect();
    let of_block = |block: &usize| {
        let value = |(cell, places): (&&Cell, &HashMap<usize, usize>)| cell.trials.get(*places.get(block)?).copied();
        cells.iter().zip(&places).map(value).collect::<Option<Vec<f64>>>()
    };
    blocks.first().map_or(Vec::new(), |first| first.iter().filter_map(of_block).collect())
}

/// Chance of blocks that move all conditions together so much where none does, in the metrics' average: the F test of
/// the additive model, each condition in units of its own spread, for a noisy one would hide what the others have in
/// common. 1 where nothing can be said.
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

/// One figure of each cell, from its values in all blocks.
fn of_cells(values: &[Vec<f64>], figure: impl Fn(&[f64]) -> Option<f64>) -> Option<Vec<f64>> {
    let column = |cell: usize| values.iter().map(|block| block[cell]).collect::<Vec<_>>();
    (0..values.first()?.len()).map(|cell| figure(&column(cell))).collect()
}

/// Each cell's mean taken out.
fn without_cells(values: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let means = of_cells(values, mean)?;
    Some(values.iter().map(|block| block.iter().zip(&means).map(|(v, mean)| v - mean).collect()).collect())
}

/// [`without_cells`], each cell over its standard deviation.
fn in_deviations(values: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let spread = of_cells(values, |cell| std_dev(cell).filter(|s| *s > 0.0))?;
    let left = without_cells(values)?;
    Some(left.iter().map(|block| block.iter().zip(&spread).map(|(v, s)| v / s).collect()).collect())
}

/// One factor, from the conditions that differ in it alone; None where there are fewer than two pairs of them, or too
/// few whole blocks.
pub(super) fn of_factor(metrics: &[Vec<Cell>], blocks: &[Vec<usize>], factor: usize) -> Option<BlockSpread> {
    let first = metrics.first()?;
    let partner = |cell: &Cell| {
        let mut low = cell.levels.clone();
        low[factor] = false;
        first.iter().position(|other| other.levels == low)
    };
    let highs = (0..first.len()).filter(|cell| first[*cell].levels[factor]);
    let (highs, lows): (Vec<usize>, Vec<usize>) = highs.filter_map(|high| Some((high, partner(&first[high])?))).unzip();
    let pairs = highs.len();
    if pairs < 2 || blocks.len() != first.len() {
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
        ratios.extend(ratio(&high, &low, pairs));
        let own = [distances(&high)?, distances(&low)?];
        let Some(scale) = mean(&own.concat()).filter(|scale| *scale > 0.0) else { continue };
        for (sums, own) in sums.iter_mut().zip(own) {
            sums.resize(own.len(), 0.0);
            sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own / scale);
        }
    }
    let p_value = differ(sums, metrics.len() == 1 && pairs == 2)?;
    (!ratios.is_empty()).then_some(BlockSpread { ratios, p_value })
}

/// Chance that the distances of two levels differ as much: Brown & Forsythe's test. Of an odd number of blocks the
/// least distance is left out where it is 0 by construction (see
/// [`super::spread_test`]).
fn differ(mut distances: [Vec<f64>; 2], has_zeros: bool) -> Option<f64> {
    for own in &mut distances {
        own.sort_by(f64::total_cmp);
        if has_zeros && own.len() % 2 == 1 {
            own.remove(0);
        }
    }
    let [high, low] = distances;
    let n = high.len() as f64;
    let error = ((variance(&high)? + variance(&low)?) / n).sqrt();
    let t = (mean(&high)? - mean(&low)?).abs() / error;
    (high.len() + 1 >= FEWEST && error > 0.0).then(|| (2.0 * t_upper_tail(t, 2.0 * n - 2.0)).min(1.0))
}

/// The trials of one level in a block, less their mean.
fn own(values: &[f64]) -> Vec<f64> {
    let centre = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|v| v - centre).collect()
}

/// Mean distance of each block's trials from their cells' medians.
fn distances(values: &[Vec<f64>]) -> Option<Vec<f64>> {
    let medians = of_cells(values, median)?;
    values.iter().map(|b| mean(&b.iter().zip(&medians).map(|(v, m)| (v - m).abs()).collect::<Vec<_>>())).collect()
}

/// ln of the ratio of the variances that are left, its variance, and the degrees of freedom of that.
fn ratio(high: &[Vec<f64>], low: &[Vec<f64>], pairs: usize) -> Option<(f64, f64, f64)> {
    let blocks = high.len();
    let ln = ln_ratio(high, low).filter(|_| pairs >= 2 && blocks >= FEWEST)?;
    let others = |left_out: usize, level: &[Vec<f64>]| -> Vec<Vec<f64>> {
        level.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, block)| block.clone()).collect()
    };
    let without = |out: usize| ln_ratio(&others(out, high), &others(out, low));
    let logs: Vec<f64> = (0..blocks).map(without).collect::<Option<_>>()?;
    let n = blocks as f64;
    let error = (n - 1.0).powi(2) / n * variance(&logs)?;
    Some((ln, error, n - 1.0))
}

/// ln of the ratio of what is left of two levels, squared.
fn ln_ratio(high: &[Vec<f64>], low: &[Vec<f64>]) -> Option<f64> {
    let squares = |level: &[Vec<f64>]| Some(without_cells(level)?.iter().flatten().map(|v| v * v).sum::<f64>());
    let ln = (squares(high)? / squares(low)?).ln();
    ln.is_finite().then_some(ln)
}
