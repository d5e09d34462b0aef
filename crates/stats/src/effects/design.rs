//! The model matrix of a two-level design.

use crate::descriptive::mean;
use crate::error::{Error, all_positive};
use crate::linear::independent_columns;

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
