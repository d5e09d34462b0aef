//! The additive model of blocks and candidates, by least squares.

use crate::quantiles::f_upper_tail;

/// Sweeps of the alternating fit at most; each makes the error smaller by a constant factor.
const SWEEPS: usize = 500;
/// Change of a candidate's mean, in log units, below which the fit has come to its end.
const CLOSE: f64 = 1e-10;
/// p below which a candidate's spread is shown to be larger than that of the others.
const LARGER: f64 = 0.01;

/// The spread of trials around block and candidate.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fit {
    /// Variance of one trial around the model, all candidates together.
    pub variance: f64,
    /// Degrees of freedom of it.
    pub df: f64,
    /// A candidate's own variance and its degrees of freedom; none where it ran in fewer than two blocks.
    own: Vec<Option<(f64, f64)>>,
}

impl Fit {
    /// The fit of blocks, each a value or none a candidate. None without a degree of freedom.
    pub fn of(blocks: &[&[Option<f64>]], candidates: usize) -> Option<Self> {
        let used: Vec<&&[Option<f64>]> = blocks.iter().filter(|block| block.iter().flatten().count() > 1).collect();
        let mut counts = vec![0_usize; candidates];
        used.iter().for_each(|block| of(block).for_each(|(i, _)| counts[i] += 1));
        let values: usize = counts.iter().sum();
        let known = counts.iter().filter(|count| **count > 0).count();
        let df = (values + 1).checked_sub(used.len() + known).filter(|df| *df > 0)? as f64;
        let means = means(&used, &counts);
        let mut squares = vec![0.0; candidates];
        for block in &used {
            let size = block.iter().flatten().count() as f64;
            let level = of(block).map(|(i, y)| y - means[i]).sum::<f64>() / size;
            // A block's mean takes its share out of each residual.
            of(block).for_each(|(i, y)| squares[i] += (y - means[i] - level).powi(2) * size / (size - 1.0));
        }
        let left: f64 = used
            .iter()
            .map(|block| {
                let size = block.iter().flatten().count() as f64;
                let level = of(block).map(|(i, y)| y - means[i]).sum::<f64>() / size;
                of(block).map(|(i, y)| (y - means[i] - level).powi(2)).sum::<f64>()
            })
            .sum();
        let own = squares
            .iter()
            .zip(&counts)
            .map(|(s, n)| (*n > 1).then(|| (s / (*n as f64 - 1.0), *n as f64 - 1.0)))
            .collect();
        Some(Self { variance: left / df, df, own })
    }

    /// Standard error of y_i - y_j over so many shared blocks, and its degrees of freedom.
    pub fn standard_error(&self, i: usize, j: usize, shared: usize) -> (f64, f64) {
        let (one, other) = (self.spread_of(i), self.spread_of(j));
        (((one.0 + other.0) / shared as f64).sqrt(), one.1.min(other.1))
    }

    /// Variance and degrees of freedom that a candidate is held to: the common ones, or its own where its spread is
    /// shown to be larger than that of the others.
    fn spread_of(&self, candidate: usize) -> (f64, f64) {
        let common = (self.variance, self.df);
        let Some((own, df)) = self.own[candidate] else { return common };
        let rest = self.df - df;
        let others = (self.variance * self.df - own * df).max(0.0) / rest;
        let shown = rest > 0.0 && own > others && f_upper_tail(own / others, df, rest) < LARGER;
        if shown { (own, df) } else { common }
    }
}

/// The values of a block with their candidates.
fn of<'a>(block: &'a [Option<f64>]) -> impl Iterator<Item = (usize, f64)> + 'a {
    block.iter().enumerate().filter_map(|(i, y)| Some((i, (*y)?)))
}

/// Least-squares means of the candidates, up to a constant: alternating between blocks and candidates.
fn means(blocks: &[&&[Option<f64>]], counts: &[usize]) -> Vec<f64> {
    let mut means = vec![0.0; counts.len()];
    for _ in 0..SWEEPS {
        let mut sums = vec![0.0; counts.len()];
        for block in blocks {
            let size = block.iter().flatten().count() as f64;
            let level = of(block).map(|(i, y)| y - means[i]).sum::<f64>() / size;
            of(block).for_each(|(i, y)| sums[i] += y - level);
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

/// Mean of y_i - y_j over the blocks that have both, and how many these are. None without one.
pub(super) fn difference(blocks: &[&[Option<f64>]], i: usize, j: usize) -> Option<(f64, usize)> {
    let shared: Vec<f64> = blocks.iter().filter_map(|block| Some(block[i]? - block[j]?)).collect();
    (!shared.is_empty()).then(|| (shared.iter().sum::<f64>() / shared.len() as f64, shared.len()))
}
