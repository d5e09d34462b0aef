//! The additive model of blocks and candidates, by least squares. When candidates of a block shared servers, servers
//! have a variance of their own: a split-plot design whose whole plots are servers.
//!
//! ```text
//! y = block + candidate + server + error    variance of a server: S, variance of the error of a trial: E
//! within a server:  E = residual squares after server and candidate / their degrees of freedom
//! between servers:  M = additional residual squares after block and candidate / additional degrees of freedom;
//!                   its expectation is E + c S, with c the effective number of trials per server (Searle's n0)
//! one trial:        S + E = M / c + (1 - 1 / c) E, with Satterthwaite's degrees of freedom
//! ```
//!
//! The difference of two candidates contains only the error if they shared a server, otherwise also the server effects.

use crate::quantiles::{self, f_upper_tail};
use crate::ratio::Rounding;

/// The trials so far, by block and candidate.
#[derive(Debug, Clone, Copy)]
pub struct Blocks<'a> {
    /// y = ln(metric), oriented so that larger is better; `None` when a candidate did not run in the block or gave no
    /// value.
    pub values: &'a [Vec<Option<f64>>],
    /// Whether the trial was disturbed; in blocks that are missing here no trial was.
    pub disturbed: &'a [Vec<bool>],
    /// Whether an attempt of the trial failed, also if another one gave the value; in blocks that are missing here none
    /// did.
    pub failed: &'a [Vec<bool>],
    /// A number that identifies the server of the trial; in blocks that are missing here each trial had its own.
    pub servers: &'a [Vec<usize>],
    /// By candidate: what rounding hides of y; nothing of a candidate that is missing here.
    pub hidden: &'a [Rounding],
}

impl<'a> Blocks<'a> {
    /// Blocks in which every trial had a server of its own, was not disturbed and did not fail; values are not rounded.
    pub fn of(values: &'a [Vec<Option<f64>>]) -> Self {
        Self { values, disturbed: &[], failed: &[], servers: &[], hidden: &[] }
    }

    pub(super) fn until(self, count: usize) -> Self {
        Self { values: &self.values[..count], ..self }
    }

    pub(super) fn is_disturbed(self, block: usize, candidate: usize) -> bool {
        self.disturbed.get(block).is_some_and(|of| of[candidate])
    }

    pub(super) fn is_failed(self, block: usize, candidate: usize) -> bool {
        self.failed.get(block).is_some_and(|of| of[candidate])
    }

    /// Whether the candidate took part, with a result or without one.
    pub(super) fn has_run(self, block: usize, candidate: usize) -> bool {
        self.values[block][candidate].is_some() || self.is_failed(block, candidate)
    }

    pub(super) fn rows(self) -> Rows<'a> {
        Rows { values: self.values, servers: self.servers }
    }
}

/// Values by block, with the servers of the trials.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<'a> {
    pub values: &'a [Vec<Option<f64>>],
    pub servers: &'a [Vec<usize>],
}

/// The values of one block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    pub values: &'a [Option<f64>],
    servers: Option<&'a [usize]>,
}

impl<'a> Rows<'a> {
    pub fn iter(self) -> impl Iterator<Item = Row<'a>> {
        let row = move |(block, values): (usize, &'a Vec<Option<f64>>)| Row {
            values,
            servers: self.servers.get(block).map(Vec::as_slice),
        };
        self.values.iter().enumerate().map(row)
    }

    /// The values by block and server; `None` when no two candidates of a block shared a server.
    pub fn by_server(self) -> Option<Vec<Vec<Option<f64>>>> {
        let all: Vec<Vec<Option<f64>>> = self.iter().flat_map(Row::servers).collect();
        all.iter().any(|own| own.iter().flatten().count() > 1).then_some(all)
    }

    /// The effective number of trials per server, on average (Searle's n0, for each block separately).
    pub fn trials_of_a_server(self) -> f64 {
        let (mut trials, mut servers) = (0.0, 0.0);
        for row in self.iter() {
            let own = row.servers();
            let sizes = own.iter().map(|of| of.iter().flatten().count() as f64).filter(|size| *size > 0.0);
            let (count, all, squares) =
                sizes.fold((0.0, 0.0, 0.0), |(count, all, squares), n| (count + 1.0, all + n, squares + n * n));
            if count > 1.0 {
                trials += all - squares / all;
                servers += count - 1.0;
            }
        }
        if servers > 0.0 { trials / servers } else { 1.0 }
    }
}

impl Row<'_> {
    pub fn share_a_server(&self, i: usize, j: usize) -> bool {
        self.servers.is_some_and(|servers| servers[i] == servers[j])
    }

    fn servers(self) -> Vec<Vec<Option<f64>>> {
        let Some(servers) = self.servers else { return Vec::new() };
        let mut known: Vec<usize> = servers.to_vec();
        known.sort_unstable();
        known.dedup();
        let own = |server: usize| {
            let is_own = |(value, of): (&Option<f64>, &usize)| value.filter(|_| *of == server);
            self.values.iter().zip(servers).map(is_own).collect()
        };
        known.into_iter().map(own).collect()
    }

    /// The sum over servers of the squared sum of their candidates' weights.
    pub fn by_server(&self, weights: &[f64]) -> f64 {
        let Some(servers) = self.servers else { return weights.iter().map(|weight| weight * weight).sum() };
        let mut sums: std::collections::BTreeMap<usize, f64> = std::collections::BTreeMap::new();
        servers.iter().zip(weights).for_each(|(server, weight)| *sums.entry(*server).or_default() += weight);
        sums.into_values().map(|sum| sum * sum).sum()
    }
}

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

/// The residual variances of trials.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fit {
    /// Of a trial compared with trials of other servers; `None` without degrees of freedom.
    apart: Option<Stratum>,
    /// Of a trial compared with trials of its own server; `None` when no two candidates shared one.
    within: Option<Stratum>,
    /// Of servers; `None` when none was shared.
    servers: Option<Servers>,
}

/// Mean square between servers, its degrees of freedom, and the effective number of trials per server.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Servers {
    squares: f64,
    df: f64,
    trials: f64,
}

/// The difference of two candidates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    /// Mean of y_i - y_j over the blocks with both.
    pub mean: f64,
    /// Number of blocks with both, on two servers.
    pub apart: usize,
    /// Number of blocks with both, on one server.
    pub within: usize,
}

impl Difference {
    /// `None` without a block with both.
    pub fn of(rows: Rows<'_>, i: usize, j: usize) -> Option<Self> {
        let (mut sum, mut apart, mut within) = (0.0, 0, 0);
        for row in rows.iter() {
            let Some(difference) = row.values[i].zip(row.values[j]).map(|(a, b)| a - b) else { continue };
            sum += difference;
            *if row.share_a_server(i, j) { &mut within } else { &mut apart } += 1;
        }
        let shared = apart + within;
        (shared > 0).then(|| Self { mean: sum / shared as f64, apart, within })
    }
}

impl Fit {
    /// `None` without degrees of freedom.
    pub fn of(rows: Rows<'_>, candidates: usize) -> Option<Self> {
        let all = Stratum::of(rows.values, candidates)?;
        let shared = rows.by_server();
        let Some(within) = shared.as_deref().and_then(|servers| Stratum::of(servers, candidates)) else {
            return Some(Self { apart: Some(all), within: None, servers: None });
        };
        let df = all.df - within.df;
        if df < 1.0 {
            return Some(Self { apart: None, within: Some(within), servers: None });
        }
        let squares = (all.variance * all.df - within.variance * within.df).max(0.0) / df;
        let trials = rows.trials_of_a_server();
        let (variance, own_df) =
            quantiles::sum_of_variances([(squares / trials, df), ((1.0 - 1.0 / trials) * within.variance, within.df)]);
        let servers = Some(Servers { squares, df, trials });
        Some(Self { apart: Some(all.with(variance, own_df)), within: Some(within), servers })
    }

    /// Whether candidates shared servers.
    pub fn knows_servers(&self) -> bool {
        self.within.is_some()
    }

    /// Residual variance of one trial after block and candidate.
    pub fn variance(&self) -> Option<f64> {
        self.apart.as_ref().or(self.within.as_ref()).map(|stratum| stratum.variance)
    }

    /// Standard error of the difference of i and j, and its degrees of freedom; `None` when these are not known.
    pub fn standard_error(&self, i: usize, j: usize, of: Difference) -> Option<(f64, f64)> {
        let (mut sum, mut least_df) = (0.0, f64::INFINITY);
        for (stratum, blocks) in [(&self.apart, of.apart), (&self.within, of.within)] {
            if blocks > 0 {
                let stratum = stratum.as_ref()?;
                let (a, b) = (stratum.spread_of(i), stratum.spread_of(j));
                sum += blocks as f64 * (a.0 + b.0);
                least_df = least_df.min(a.1).min(b.1);
            }
        }
        Some((sum.sqrt() / (of.apart + of.within) as f64, least_df))
    }

    /// Standard error and degrees of freedom of a weighted sum of the candidates' means over these blocks; the weights
    /// sum to 0.
    pub fn error_of(&self, weights: &[f64], rows: Rows<'_>) -> Option<(f64, f64)> {
        let own: f64 = weights.iter().map(|weight| weight * weight).sum();
        let blocks = rows.values.len() as f64;
        let Some((servers, within)) = self.servers.zip(self.within.as_ref()) else {
            let stratum = self.apart.as_ref().or(self.within.as_ref())?;
            return Some(((own * stratum.variance / blocks).sqrt(), stratum.df));
        };
        let of_servers = rows.iter().map(|row| row.by_server(weights)).sum::<f64>() / blocks / servers.trials;
        let parts =
            [(of_servers * servers.squares, servers.df), ((own - of_servers).max(0.0) * within.variance, within.df)];
        let (variance, df) = quantiles::sum_of_variances(parts);
        Some(((variance / blocks).sqrt(), df))
    }
}
