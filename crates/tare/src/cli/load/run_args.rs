//! The options of every `tare load`: the number of clients, the duration, the placement, and what is kept.

use super::options::{Chosen, KeyOption, KeyOptions};
use clap::Args;
use std::path::PathBuf;
use tare_study::language::settings::Sampling;
use tare_text::Value;

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub keys: Chosen<RunKeys>,
    /// End after this number of transactions over all threads, or after --time, whichever comes first; 0: no such
    /// limit. With it, --time=0 means no time limit, and there is no warm-up without --warmup
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "out")]
    pub events: u64,
    /// Write the results to this new directory, as a run does: show, compare, report and export read it. The progress
    /// lines are those of `tare run`
    #[arg(long, value_name = "DIR", conflicts_with = "histogram")]
    pub out: Option<PathBuf>,
    /// With --out: number of measurements, each a trial with new connections and its own warm-up
    #[arg(long, value_name = "N", requires = "out", default_value_t = 1, value_parser = repeats)]
    pub repeat: usize,
    /// With --out: change one key of the study that the run is recorded as, for example sampling.steal_limit=off (may
    /// be repeated)
    #[arg(long, value_name = "PATH.KEY=VALUE", requires = "out")]
    pub set: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct RunKeys;

impl KeyOptions for RunKeys {
    const OPTIONS: &'static [KeyOption] = &[
        KeyOption::new("threads", "workload", "threads"),
        KeyOption {
            is_time: true,
            more: ", for example 60s or 2m [default: 60s; sysbench: 10s]",
            ..KeyOption::new("time", "sampling", "sample_s")
        },
        KeyOption {
            is_time: true,
            more: " [default: 10s, and no longer than --time; sysbench: none]",
            ..KeyOption::new("warmup", "sampling", "warmup_s")
        },
        KeyOption { value: "RATE", ..KeyOption::new("rate", "workload", "rate") },
        KeyOption {
            value: "LIMIT",
            not_with: Some("rate"),
            more: " [default: none; --time, here of a step: 5s]",
            ..KeyOption::new("slo", "workload", "objective")
        },
        KeyOption {
            also: &["rand-seed"],
            taken: &["rand_seed"],
            more: " [default: 1; sysbench: the time of day]",
            ..KeyOption::new("seed", "sampling", "seed")
        },
        KeyOption { value: "LOCATION", ..KeyOption::new("client", "placement", "client") },
        KeyOption {
            value: "LOCATION",
            more: "; needs a server on this machine [default: float]",
            ..KeyOption::new("server", "placement", "server")
        },
        KeyOption {
            value: "LOCATION",
            more: "; their affinities are restored afterwards [default: float]",
            ..KeyOption::new("background", "placement", "background")
        },
        KeyOption { value: "set|thread", ..KeyOption::new("bind", "placement", "bind") },
        KeyOption {
            value: "PAIRING",
            more: "; needs --bind thread [default: none]",
            ..KeyOption::new("pairing", "placement", "pairing")
        },
        KeyOption::new("spin", "client", "spin"),
    ];
}

impl RunArgs {
    pub(crate) fn warmup_s(&self) -> f64 {
        let usual = if self.events > 0 { 0.0 } else { Sampling::default().warmup_s.min(self.time_s()) };
        self.seconds("warmup_s").unwrap_or(usual)
    }

    pub(crate) fn sample_s(&self) -> f64 {
        if self.events > 0 && self.time_s() == 0.0 { FOREVER_S } else { self.time_s() }
    }

    /// Whether to search the highest rate that meets a limit.
    pub(crate) fn searches(&self) -> bool {
        self.keys.get("objective").is_some_and(|objective| objective.to_string() != "none")
    }

    fn time_s(&self) -> f64 {
        let usual = if self.searches() { STEP_S } else { Sampling::default().sample_s };
        self.seconds("sample_s").unwrap_or(usual)
    }

    fn seconds(&self, key: &str) -> Option<f64> {
        self.keys.get(key).and_then(Value::number)
    }
}

/// Length of a step of an interactive search, seconds.
const STEP_S: f64 = 5.0;

/// A time without a practical limit, seconds: most of a century.
const FOREVER_S: f64 = 3e9;

fn repeats(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| (1..=10_000).contains(n)).ok_or_else(|| "expected a number from 1 to 10000".into())
}
