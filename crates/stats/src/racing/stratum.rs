//! The residual variance after rows and candidates, by least squares.

use crate::quantiles::f_upper_tail;

/// Maximum iterations of the alternating fit; each reduces the error by a constant factor.
const SWEEPS: usize = 500;
/// The fit has converged when the mean of no candidate changes by more than this, in log units.
const CLOSE: f64 = 1e-10;
/// p-value below which the variance of a candidate is taken to be larger than that of the others.
const LARGER: f64 = 0.01;

/// The fit of rows, which are blocks, or the part of a block on one server.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stratum {
    /// Residual variance of one trial, all candidates together.
    pub variance: f64,
    /// Degrees of freedom of it.
    pub df: f64,
    /// Residual sum of squares, and its degrees of freedom.
    squares: (f64, f64),
    /// A candidate's own variance and its degrees of freedom; `None` when it ran in fewer than two rows.
    own: Vec<Option<(f64, f64)>>,
}

impl Stratum {
    /// Fits rows with one optional value per candidate. `None` without degrees of freedom.
    pub fn of(rows: &[Vec<Option<f64>>], candidates: usize) -> Option<Self> {
        let used: Vec<&[Option<f64>]> =
            rows.iter().map(Vec::as_slice).filter(|row| row.iter().flatten().count() > 1).collect();
        let mut counts = vec![0_usize; candidates];
        used.iter().for_each(|row| of(row).for_each(|(i, _)| counts[i] += 1));
        let values: usize = counts.iter().sum();
        let known = counts.iter().filter(|count| **count > 0).count();
        let free = (values + apart(&used, &counts)).checked_sub(used.len() + known);
        let df = free.filter(|df| *df > 0)? as f64;
        let means = means(&used, &counts);
        let mut squares = vec![0.0; candidates];
        let mut left = 0.0;
        for row in &used {
            let size = row.iter().flatten().count() as f64;
            let level = of(row).map(|(i, y)| y - means[i]).sum::<f64>() / size;
            for (i, y) in of(row) {
                let square = (y - means[i] - level).powi(2);
                left += square;
                // Corrects for the row's mean, which is computed from the residual's own value too.
                squares[i] += square * size / (size - 1.0);
            }
        }
        let own = squares
            .iter()
            .zip(&counts)
            .map(|(s, n)| (*n > 1).then(|| (s / (*n as f64 - 1.0), *n as f64 - 1.0)))
            .collect();
        Some(Self { variance: left / df, df, squares: (left, df), own })
    }

    /// Replaces the common variance.
    pub fn with(self, variance: f64, df: f64) -> Self {
        Self { variance, df, ..self }
    }

    /// Variance and degrees of freedom for a candidate: the common ones, or its own if its variance is shown to be
    /// larger than that of the others.
    pub fn spread_of(&self, candidate: usize) -> (f64, f64) {
        let common = (self.variance, self.df);
        let Some((own, df)) = self.own[candidate] else { return common };
        let (squares, all) = self.squares;
        let rest = all - df;
        let others = (squares - own * df).max(0.0) / rest;
        let shown = rest > 0.0 && own > others && f_upper_tail(own / others, df, rest) < LARGER;
        if shown { (own, df) } else { common }
    }
}

/// The values of a row with the indexes of their candidates.
fn of<'a>(row: &'a [Option<f64>]) -> impl Iterator<Item = (usize, f64)> + 'a {
    row.iter().enumerate().filter_map(|(i, y)| Some((i, (*y)?)))
}

/// The number of sets of candidates that are not connected by any row.
fn apart(rows: &[&[Option<f64>]], counts: &[usize]) -> usize {
    let mut first: Vec<usize> = (0..counts.len()).collect();
    for row in rows {
        let joined: Vec<usize> = of(row).map(|(i, _)| first[i]).collect();
        let Some(least) = joined.iter().copied().min() else { continue };
        first.iter_mut().filter(|set| joined.contains(set)).for_each(|set| *set = least);
    }
    let mut sets: Vec<usize> = first.into_iter().zip(counts).filter(|(_, n)| **n > 0).map(|(set, _)| set).collect();
    sets.sort_unstable();
    sets.dedup();
    sets.len()
}

/// Least-squares means of the candidates, up to a constant, alternating between rows and candidates.
fn means(rows: &[&[Option<f64>]], counts: &[usize]) -> Vec<f64> {
    let mut means = vec![0.0; counts.len()];
    for _ in 0..SWEEPS {
        let mut sums = vec![0.0; counts.len()];
        for row in rows {
            let size = row.iter().flatten().count() as f64;
            let level = of(row).map(|(i, y)| y - means[i]).sum::<f64>() / size;
            of(row).for_each(|(i, y)| sums[i] += y - level);
        }
        let mut moved = 0.0_f64;
        for (i, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let mean = sums[i] / *count as f64;
            moved = moved.max((mean - means[i]).abs());
            means[i] = mean;
        }
        if moved < CLOSE {
            break;
        }
    }
    means
}
