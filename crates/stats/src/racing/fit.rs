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

use super::rows::Rows;
use super::stratum::Stratum;
use crate::welch;

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
            welch::sum([(squares / trials, df), ((1.0 - 1.0 / trials) * within.variance, within.df)]);
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
        let (variance, df) = welch::sum(parts);
        Some(((variance / blocks).sqrt(), df))
    }
}
