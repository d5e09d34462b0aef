//! Options that `tare ab`, `tare find` and `tare bisect` have in common.

use clap::Args;
use tare_study::language::parse::Overrides;

/// What the study is run with, and what of it is compared.
#[derive(Debug, Args)]
pub struct MeasuredArgs {
    /// Run on this engine: sqlite, mariadb, mysql or postgresql
    #[arg(long)]
    pub engine: Option<String>,
    /// Run this load instead of the study's, for example read_write or dbt3
    #[arg(long, value_name = "WORKLOAD")]
    pub load: Option<String>,
    /// The metric to compare [default: the load's first headline metric]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Seed of the order within pairs or blocks [default: a new one, which is recorded]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Change one key of the study, for example sampling.sample_s=5 (may be repeated)
    #[arg(long = "set", value_name = "PATH.KEY=VALUE")]
    pub set: Vec<String>,
}

impl MeasuredArgs {
    /// The changes to the study, including its load.
    pub fn sets(&self) -> Vec<String> {
        let load = self.load.iter().map(|load| format!("workload.name={load}"));
        load.chain(self.set.iter().cloned()).collect()
    }

    pub fn overrides(&self) -> Overrides {
        let load = self.load.iter().map(|load| (format!("workload.name={load}"), format!("--load {load}")));
        Overrides {
            engine: self.engine.clone(),
            options: load.collect(),
            sets: self.set.clone(),
            ..Overrides::default()
        }
    }
}
