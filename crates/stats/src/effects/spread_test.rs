//! Tests whether a factor changes the variance: Brown & Forsythe's test ("Robust tests for the equality of variances",
//! Journal of the American Statistical Association 69, 1974), for several factors and metrics at once.

use super::design::{Cell, Design};
use crate::descriptive::{mean, median};
use crate::linear::{dot, gram, inverse_spd, moment, times};
use crate::quantiles::t_upper_tail;

/// A test of no effect on the variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SpreadTest {
    /// 1 when the effect cannot be tested.
    pub p_value: f64,
    /// Whether the distances at the high level are the larger ones.
    pub up: bool,
}

impl SpreadTest {
    /// The p-value of an estimate that is above 0 when the high level varies more. 1 when the test has the other
    /// direction: with an interaction of two factors, variances and distances may disagree on the noisier level.
    pub fn of(self, estimate: f64) -> f64 {
        if (estimate > 0.0) == self.up { self.p_value } else { 1.0 }
    }
}

/// The test of each factor. `metrics` hold logarithms; cell c and trial t are the same trial in each.
///
/// A trial's distance from its cell's median, in units of the metric's mean distance, is averaged over the metrics, so
/// that effects that all queries of a trial share count once. A model of main effects with one common variance is
/// fitted to these distances. With a single metric and an odd number of trials the smallest distance is left out: it is
/// 0 by construction (Hines & O'Hara Hines, Biometrics 56, 2000).
pub(super) fn brown_forsythe(metrics: &[Vec<Cell>], factors: usize) -> Vec<SpreadTest> {
    tested(metrics, factors).unwrap_or_else(|| vec![UNTESTED; factors])
}

const UNTESTED: SpreadTest = SpreadTest { p_value: 1.0, up: false };

fn tested(metrics: &[Vec<Cell>], factors: usize) -> Option<Vec<SpreadTest>> {
    let cells: Vec<&Cell> = metrics.first()?.iter().collect();
    let design = Design::new(&cells, factors, 1);
    let mut rows = Vec::new();
    let mut responses = Vec::new();
    for (row, distances) in design.x.iter().zip(distances(metrics)?) {
        rows.extend(distances.iter().map(|_| row.clone()));
        responses.extend(distances);
    }
    let ones = vec![1.0; rows.len()];
    let inverse = inverse_spd(&gram(&rows, &ones))?;
    let fitted = times(&inverse, &moment(&rows, &ones, &responses));
    let df = rows.len() as f64 - design.terms.len() as f64;
    let squares: f64 = rows.iter().zip(&responses).map(|(row, y)| (y - dot(row, &fitted)).powi(2)).sum();
    let test = |factor: usize| {
        let j = design.terms.iter().position(|term| *term == [factor])?;
        let se = (squares / df * inverse[j][j]).sqrt();
        let p_value = || (2.0 * t_upper_tail(fitted[j].abs() / se, df)).min(1.0);
        (df >= 1.0 && se > 0.0).then(|| SpreadTest { p_value: p_value(), up: fitted[j] > 0.0 })
    };
    Some((0..factors).map(|factor| test(factor).unwrap_or(UNTESTED)).collect())
}

/// The distances of each cell's trials, averaged over the metrics.
fn distances(metrics: &[Vec<Cell>]) -> Option<Vec<Vec<f64>>> {
    let shape = |cells: &[Cell]| cells.iter().map(|cell| cell.trials.len()).collect::<Vec<_>>();
    let first = shape(metrics.first()?);
    let mut sums: Vec<Vec<f64>> = first.iter().map(|n| vec![0.0; *n]).collect();
    for cells in metrics.iter().filter(|cells| shape(cells) == first) {
        let own: Vec<Vec<f64>> = cells.iter().map(from_median).collect();
        let scale = mean(&own.concat()).filter(|scale| *scale > 0.0);
        let Some(scale) = scale else { continue };
        for (sums, own) in sums.iter_mut().zip(own) {
            sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own / scale);
        }
    }
    // Two trials have the same distance from their median, so they count once.
    sums.iter_mut().filter(|cell| cell.len() == 2).for_each(|cell| cell.truncate(1));
    // With several metrics the medians are different trials, and no average distance is 0 by construction.
    let single = metrics.len() == 1;
    sums.iter_mut().filter(|cell| single && cell.len() % 2 == 1 && cell.len() > 1).for_each(|cell| {
        let least = (0..cell.len()).min_by(|&i, &j| cell[i].total_cmp(&cell[j]));
        if let Some(least) = least {
            cell.remove(least);
        }
    });
    Some(sums)
}

fn from_median(cell: &Cell) -> Vec<f64> {
    let centre = median(&cell.trials).unwrap_or(0.0);
    cell.trials.iter().map(|v| (v - centre).abs()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(level: bool, trials: &[f64]) -> Cell {
        Cell { levels: vec![level], trials: trials.to_vec() }
    }

    #[test]
    fn two_groups_by_hand() {
        // Distances 1 1 2 2 and 2 2 4 4 in units of their mean 2.25: difference 1.5, pooled variance (1/3 + 4/3) / 2.
        let metrics = [vec![cell(false, &[-2.0, -1.0, 1.0, 2.0]), cell(true, &[-4.0, -2.0, 2.0, 4.0])]];
        let SpreadTest { p_value: p, up } = brown_forsythe(&metrics, 1)[0];
        assert!(up);
        let t = 1.5 / (5.0f64 / 6.0 * 0.5).sqrt();
        assert!((p - 2.0 * t_upper_tail(t, 6.0)).abs() < 1e-12, "{p}");
        // The same query twice adds no information.
        let twice = [metrics[0].clone(), metrics[0].clone()];
        assert!((brown_forsythe(&twice, 1)[0].p_value - p).abs() < 1e-12);
    }

    #[test]
    fn the_structural_zero_of_odd_cells_is_left_out() {
        let odd = [vec![cell(false, &[-2.0, 0.0, 2.1]), cell(true, &[-4.0, 0.0, 4.1])]];
        assert!(brown_forsythe(&odd, 1)[0].p_value < 0.01);
        // Two trials per cell are one distance per cell, which leaves no residuals.
        let two = [vec![cell(false, &[-2.0, 2.0]), cell(true, &[-4.0, 4.1])]];
        assert_eq!(brown_forsythe(&two, 1), [UNTESTED]);
        assert_eq!(brown_forsythe(&[vec![cell(false, &[1.0]), cell(true, &[2.0])]], 1), [UNTESTED]);
    }
}
