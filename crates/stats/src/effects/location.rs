//! Effects on the mean.

use super::design::{Cell, Design};
use crate::descriptive::{mean, variance};
use crate::linear::{dot, gram, inverse_spd, moment, times};
use crate::quantiles::t_upper_tail;
use std::collections::HashMap;

/// A coefficient of the model of ln(value), its standard error and degrees of freedom where trials are replicated.
pub(super) struct Coefficient {
    pub value: f64,
    /// Standard error and Welch-Satterthwaite degrees of freedom.
    pub error: Option<(f64, f64)>,
}

impl Coefficient {
    /// Two-sided p-value of no effect.
    pub fn p_value(&self) -> Option<f64> {
        let (se, df) = self.error?;
        let t = if se > 0.0 {
            self.value.abs() / se
        } else if self.value == 0.0 {
            0.0
        } else {
            f64::INFINITY
        };
        Some((2.0 * t_upper_tail(t, df)).min(1.0))
    }
}

/// The values of every cell in each of the blocks that hold all cells. `None` when fewer than two blocks do, or when
/// more than a third of some cell's trials stand in others; `blocks` are the blocks of each cell's trials.
fn complete_blocks(cells: &[&Cell], blocks: &[&[usize]]) -> Option<Vec<Vec<f64>>> {
    if blocks.len() != cells.len() || cells.iter().zip(blocks).any(|(c, b)| c.trials.len() != b.len()) {
        return None;
    }
    let first = blocks.first()?;
    // The first trial of a block counts, should there be two.
    let places: Vec<HashMap<usize, usize>> =
        blocks.iter().map(|own| own.iter().enumerate().rev().map(|(place, block)| (*block, place)).collect()).collect();
    let of_block = |block: &usize| {
        let value = |(cell, places): (&&Cell, &HashMap<usize, usize>)| Some(cell.trials[*places.get(block)?]);
        cells.iter().zip(&places).map(value).collect::<Option<Vec<f64>>>()
    };
    let complete: Vec<Vec<f64>> = first.iter().filter_map(of_block).collect();
    let most = cells.iter().map(|c| c.trials.len()).max()?;
    (complete.len() >= 2 && 3 * complete.len() >= 2 * most).then_some(complete)
}

/// Each block gives every coefficient once: their mean, and its standard error over the blocks. What a block does to
/// all cells is gone, and no cell's spread is taken to be another's. `None` where [`complete_blocks`] finds none.
pub(super) fn fit_blocks(cells: &[&Cell], blocks: &[&[usize]], design: &Design) -> Option<Vec<Coefficient>> {
    let complete = complete_blocks(cells, blocks)?;
    let ones = vec![1.0; cells.len()];
    let inverse = inverse_spd(&gram(&design.x, &ones))?;
    let of_blocks: Vec<Vec<f64>> = complete.iter().map(|y| times(&inverse, &moment(&design.x, &ones, y))).collect();
    let n = of_blocks.len() as f64;
    let coefficient = |j: usize| {
        let own: Vec<f64> = of_blocks.iter().map(|block| block[j]).collect();
        Some(Coefficient { value: mean(&own)?, error: Some((variance(&own)?.sqrt() / n.sqrt(), n - 1.0)) })
    };
    (0..design.terms.len()).map(coefficient).collect()
}

/// Least squares on the cell means. Each cell's own variance makes the standard errors, because the factors are
/// expected to change the spread: var(b_j) = sum a_jc^2 s_c^2 / n_c with Welch-Satterthwaite degrees of freedom. A cell
/// with a single trial borrows the pooled variance.
pub(super) fn fit(cells: &[&Cell], design: &Design) -> Option<Vec<Coefficient>> {
    let ones = vec![1.0; cells.len()];
    let inverse = inverse_spd(&gram(&design.x, &ones))?;
    let means: Vec<f64> = cells.iter().filter_map(|c| mean(&c.trials)).collect();
    let values = times(&inverse, &moment(&design.x, &ones, &means));

    let df_total: f64 = cells.iter().map(|c| c.trials.len() as f64 - 1.0).sum();
    let squares: f64 = cells.iter().filter_map(|c| Some(variance(&c.trials)? * (c.trials.len() as f64 - 1.0))).sum();
    let pooled = squares / df_total;
    let errors = cells.iter().map(|c| match variance(&c.trials) {
        Some(v) => (v / c.trials.len() as f64, c.trials.len() as f64 - 1.0),
        None => (pooled, df_total),
    });
    let errors: Vec<(f64, f64)> = errors.collect();
    let error = |j: usize| {
        let parts: Vec<(f64, f64)> =
            design.x.iter().zip(&errors).map(|(row, (v, df))| (dot(&inverse[j], row).powi(2) * v, *df)).collect();
        let total: f64 = parts.iter().map(|p| p.0).sum();
        let df = total * total / parts.iter().map(|(v, df)| v * v / df).sum::<f64>();
        (df_total >= 1.0).then_some((total.sqrt(), if df.is_finite() { df } else { df_total }))
    };
    Some(values.into_iter().enumerate().map(|(j, value)| Coefficient { value, error: error(j) }).collect())
}
