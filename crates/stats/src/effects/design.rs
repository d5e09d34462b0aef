//! The model matrix of a two-level design, and effects on the mean.

use crate::blocks::{Analysis, Condition, Contrast, Model, are_few};
use crate::descriptive::{mean, variance};
use crate::error::{Error, all_positive};
use crate::line::{dot, gram, independent_columns, inverse_spd, moment, times};
use crate::quantiles::{self, t_two_sided};

/// One condition of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// One level per factor: `false` for the first (low, off), `true` for the second (high, on).
    pub levels: Vec<bool>,
    /// Trial means, positive because logarithms are taken. Cells may differ in number of trials.
    pub trials: Vec<f64>,
}

/// The terms of the model and the rows of the cells that are used, with +1 for the high and -1 for the low level.
pub(super) struct Design {
    /// Factor indexes of each column; the first is the grand mean, without factors.
    pub terms: Vec<Vec<usize>>,
    /// One row per cell.
    pub x: Vec<Vec<f64>>,
}

impl Design {
    /// All terms of up to `max_order` factors that these cells can estimate, lower orders first. A term that is aliased
    /// with earlier ones (missing cells, a factor that never varies) is left out.
    pub fn new(cells: &[&Cell], factors: usize, max_order: usize) -> Self {
        let mut all: Vec<Vec<usize>> = vec![vec![]];
        let mut last = all.clone();
        for _ in 0..max_order.min(factors) {
            last = last
                .iter()
                .flat_map(|t| {
                    let next = t.last().map_or(0, |f| f + 1);
                    (next..factors).map(move |f| [t.as_slice(), &[f]].concat())
                })
                .collect();
            all.extend_from_slice(&last);
        }
        let sign = |cell: &Cell, term: &[usize]| {
            term.iter().map(|&f| if cell.levels[f] { 1.0 } else { -1.0 }).product::<f64>()
        };
        let full: Vec<Vec<f64>> = cells.iter().map(|c| all.iter().map(|t| sign(c, t)).collect()).collect();
        let kept = independent_columns(&full);
        let x = full.iter().map(|row| kept.iter().map(|&j| row[j]).collect()).collect();
        Self { terms: kept.into_iter().map(|j| all[j].clone()).collect(), x }
    }
}

/// The cells that have trials, with their values as logarithms.
///
/// # Errors
/// [`Error::Mismatch`] when the number of levels of a cell differs from the number of factors, [`Error::NotPositive`],
/// [`Error::TooFew`] when fewer than two cells have trials.
pub(super) fn log_cells(factors: usize, cells: &[Cell]) -> Result<Vec<Cell>, Error> {
    let mut logs = Vec::with_capacity(cells.len());
    for cell in cells {
        if cell.levels.len() != factors {
            return Err(Error::Mismatch { what: "levels of a cell".into(), expected: factors, got: cell.levels.len() });
        }
        all_positive("trial means", &cell.trials)?;
        if !cell.trials.is_empty() {
            let trials = cell.trials.iter().map(|v| v.ln()).collect();
            logs.push(Cell { levels: cell.levels.clone(), trials });
        }
    }
    if logs.len() < 2 {
        return Err(Error::TooFew { what: "conditions with trials".into(), needed: 2, got: logs.len() });
    }
    Ok(logs)
}

/// Residuals of the conditions: ln of each trial mean minus the average of its cell, with the index of the cell, cell
/// by cell. Test covariates against them with [`crate::covariates::explain`]; residuals of several queries of the same
/// trials may be averaged first.
///
/// # Errors
/// [`Error::NotPositive`] for values without a logarithm.
pub fn residuals(cells: &[Cell]) -> Result<(Vec<f64>, Vec<usize>), Error> {
    let mut left = (Vec::new(), Vec::new());
    for (i, cell) in cells.iter().enumerate() {
        all_positive("trial means", &cell.trials)?;
        let logs: Vec<f64> = cell.trials.iter().map(|v| v.ln()).collect();
        let centre = mean(&logs).unwrap_or(0.0);
        left.0.extend(logs.iter().map(|v| v - centre));
        left.1.extend(logs.iter().map(|_| i));
    }
    Ok(left)
}

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
pub(super) fn fit_means(cells: &[&Cell], rounding: &[f64], design: &Design) -> Option<Vec<Coefficient>> {
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
        let (total, df) = quantiles::sum_of_variances(parts);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(levels: &[bool]) -> Cell {
        Cell { levels: levels.to_vec(), trials: vec![1.0] }
    }

    #[test]
    fn a_missing_cell_costs_the_highest_term_and_nothing_else() {
        let (f, t) = (false, true);
        let all = [cell(&[f, f]), cell(&[t, f]), cell(&[f, t]), cell(&[t, t])];
        let full = Design::new(&all.iter().collect::<Vec<_>>(), 2, 2);
        assert_eq!(full.terms, [vec![], vec![0], vec![1], vec![0, 1]]);
        assert_eq!(full.x[1], [1.0, 1.0, -1.0, -1.0]);
        let short = Design::new(&all[..3].iter().collect::<Vec<_>>(), 2, 2);
        assert_eq!(short.terms, [vec![], vec![0], vec![1]]);
        let constant = Design::new(&all[..2].iter().collect::<Vec<_>>(), 2, 2);
        assert_eq!(constant.terms, [vec![], vec![0]]);
    }
}
