//! Effects on the mean.

use super::design::{Cell, Design};
use crate::blocks::{Analysis, Condition, Contrast, Model, are_few};
use crate::descriptive::{mean, variance};
use crate::linear::{dot, gram, inverse_spd, moment, times};
use crate::quantiles::t_two_sided;
use crate::welch;

/// From this number of conditions on, chance rarely divides trials of two modes by a factor: two trials of each
/// condition of a 2x2x2 show an effect that is not there in at most 1.8% of studies, those of a 2x2 in up to 6%
/// (docs/figures.md).
pub const DIVIDED: usize = 8;

/// A coefficient of the model of ln(value), with standard error and degrees of freedom where trials are replicated.
pub(super) struct Coefficient {
    pub value: f64,
    /// Its error, with Welch-Satterthwaite degrees of freedom.
    pub error: Option<Contrast>,
}

impl Coefficient {
    /// Half of the width of its interval: with few blocks the wider one of both standard errors.
    pub fn half_width(&self, confidence: f64) -> Option<f64> {
        let Contrast { se, df, pooled, .. } = self.error?;
        let half = |(se, df): (f64, f64)| se * t_two_sided(confidence, df);
        Some(half((se, df)).max(pooled.map_or(0.0, half)))
    }
}

/// The coefficients as contrasts of the cell means, with block effects removed. `None` when these cannot be removed, or
/// a cell has too few trials for it.
pub(super) fn fit_blocks(
    cells: &[&Cell],
    blocks: &[Vec<usize>],
    errors: &[f64],
    design: &Design,
) -> Option<(Vec<Coefficient>, Analysis)> {
    if blocks.len() != cells.len() || cells.iter().zip(blocks).any(|(c, b)| c.trials.len() != b.len()) {
        return None;
    }
    let numbered = cells.iter().zip(blocks).map(|(cell, own)| own.iter().copied().zip(cell.trials.iter().copied()));
    let conditions: Vec<Condition> = numbered.map(Iterator::collect).collect();
    let model = Model::of(&conditions, true).rounded(&conditions, errors);
    let inverse = inverse_spd(&gram(&design.x, &vec![1.0; cells.len()]))?;
    let coefficient = |j: usize| {
        let weights: Vec<(usize, f64)> = design.x.iter().map(|row| dot(&inverse[j], row)).enumerate().collect();
        if design.terms[j].is_empty() {
            // The grand mean is neither a contrast nor an effect.
            return Some(Coefficient { value: 0.0, error: None });
        }
        let found = model.contrast(&weights)?;
        Some(Coefficient { value: found.value, error: Some(found) })
    };
    let found = (0..design.terms.len()).map(coefficient).collect::<Option<_>>()?;
    model.analysis().by_block.then_some((found, model.analysis()))
}

/// Least squares on the cell means. The standard errors use each cell's own variance, because factors are expected to
/// change the variance: var(b_j) = sum a_jc^2 s_c^2 / n_c with Welch-Satterthwaite degrees of freedom. A cell with a
/// single trial uses the pooled variance. With rounding errors, no standard error is less than theirs, and one that
/// would be has the degrees of freedom of the smallest cell.
pub(super) fn fit(cells: &[&Cell], rounding: &[f64], design: &Design) -> Option<Vec<Coefficient>> {
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
        let parts = design.x.iter().zip(&errors).map(|(row, (v, df))| (dot(&inverse[j], row).powi(2) * v, *df));
        let (total, df) = welch::sum(parts);
        let of_rounding = design.x.iter().zip(rounding).zip(cells);
        let least: f64 = of_rounding
            .map(|((row, error), cell)| (dot(&inverse[j], row) * error).powi(2) / cell.trials.len() as f64)
            .sum();
        let found =
            if total < least { (least, errors.iter().fold(df, |fewest, own| fewest.min(own.1))) } else { (total, df) };
        (df_total >= 1.0).then_some((found.0.sqrt(), found.1))
    };
    let few = cells.len() < DIVIDED && are_few(cells.iter().map(|cell| cell.trials.len()));
    let coefficient = |(j, value): (usize, f64)| {
        let error = error(j).map(|(se, df)| Contrast { value, se, df, pooled: None, few });
        Coefficient { value, error }
    };
    Some(values.into_iter().enumerate().map(coefficient).collect())
}
