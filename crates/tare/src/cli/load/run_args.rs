//! The options of every `tare load`: how many clients, how long, where they run, and what is kept.

use clap::Args;
use std::path::PathBuf;
use tare_drive::workload::MOST_THREADS;
use tare_topology::{Bind, Pairing, Side};

/// How it is driven, and where.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Client threads, one connection each
    #[arg(long, default_value_t = 1, value_parser = threads)]
    pub threads: usize,
    /// Length of the measurement, for example 60s or 2m [default: 60s; sysbench: 10s]
    #[arg(long, default_value = "60s", hide_default_value = true, value_parser = seconds)]
    pub time: f64,
    /// End after so many transactions over all threads, or after --time, whichever comes first; 0: no such limit. With
    /// it --time=0 is no limit of time, and there is no warm-up unless --warmup asks for one
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "out")]
    pub events: u64,
    /// Load before the measurement, left out of the figures [default: 10s, and no longer than --time; sysbench: none]
    #[arg(long, value_parser = seconds)]
    pub warmup: Option<f64>,
    /// Transactions a second over all threads (open loop, latency from the intended start) [default: closed loop]
    #[arg(long)]
    pub rate: Option<f64>,
    /// Seed of the random numbers [default: 1; sysbench: the time of day]
    #[arg(long, default_value_t = 1, hide_default_value = true, visible_alias = "rand-seed", alias = "rand_seed")]
    pub seed: u64,
    /// Where the client threads run, for example node:0.core:0-1, or float
    #[arg(long, value_name = "LOCATION", default_value = "float")]
    pub client: Side,
    /// Where the server threads run; needs a server on this machine
    #[arg(long = "server", value_name = "LOCATION", default_value = "float")]
    pub server_side: Side,
    /// Where the server threads run that serve no connection; they are put back afterwards, as all threads are
    #[arg(long, value_name = "LOCATION", default_value = "float")]
    pub background: Side,
    /// set: all threads of a side share its CPUs; thread: each thread its own PU
    #[arg(long, default_value = "set")]
    pub bind: Bind,
    /// Where a server thread sits relative to its client thread (same-pu, smt-sibling, same-core, same-cache,
    /// other-cache, same-node, other-node); needs --bind thread
    #[arg(long, default_value = "none")]
    pub pairing: Pairing,
    /// Keep the results in this new directory, as a run does: show, compare, report and export work on it. Its lines
    /// while it runs are those of `tare run`
    #[arg(long, value_name = "DIR", conflicts_with = "histogram")]
    pub out: Option<PathBuf>,
    /// With --out: measure so many times, each a trial of its own with new connections and its own warm-up
    #[arg(long, value_name = "N", requires = "out", default_value_t = 1, value_parser = repeats)]
    pub repeat: usize,
    /// With --out: change one key of the study that it is, for example sampling.steal_limit=off (may be repeated)
    #[arg(long, value_name = "PATH.KEY=VALUE", requires = "out")]
    pub set: Vec<String>,
}

impl RunArgs {
    /// Load before the measurement, seconds.
    pub fn warmup_s(&self) -> f64 {
        self.warmup.unwrap_or(if self.events > 0 { 0.0 } else { WARMUP_S.min(self.time) })
    }

    /// Length of the measurement, seconds.
    pub fn sample_s(&self) -> f64 {
        if self.events > 0 && self.time == 0.0 { FOREVER_S } else { self.time }
    }
}

/// A time that no one waits for: most of a century.
const FOREVER_S: f64 = 3e9;
/// Load before a measurement, seconds, where no one says it.
const WARMUP_S: f64 = 10.0;

/// As many as there may be.
fn threads(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=MOST_THREADS).contains(number));
    number.ok_or_else(|| format!("expected a whole number from 1 to {MOST_THREADS}"))
}

/// `60s`, `2m`, `500ms` or a bare number of seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let (number, factor) = match text {
        t if t.ends_with("ms") => (&t[..t.len() - 2], 0.001),
        t if t.ends_with('s') => (&t[..t.len() - 1], 1.0),
        t if t.ends_with('m') => (&t[..t.len() - 1], 60.0),
        t => (t, 1.0),
    };
    match number.parse::<f64>() {
        Ok(n) if n.is_finite() && n >= 0.0 => Ok(n * factor),
        _ => Err("expected a time such as 60s, 2m or 500ms".into()),
    }
}

fn repeats(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| (1..=10_000).contains(n)).ok_or_else(|| "expected a number from 1 to 10000".into())
}
