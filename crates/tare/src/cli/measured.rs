//! Options that `tare ab`, `tare find` and `tare bisect` have in common.

use super::{Exit, Problem};
use crate::state::whole_path;
use clap::Args;
use tare_drive::workload::AnyLoad;
use tare_results::metric;
use tare_study::language::load_name::LoadName;
use tare_study::language::parse::Overrides;
use tare_study::language::spec::Study;

/// What the study is run with, and what of it is compared.
#[derive(Debug, Args)]
pub(crate) struct MeasuredArgs {
    /// Run on this engine: sqlite, mariadb, mysql or postgresql [default: the study's]
    #[arg(long)]
    pub engine: Option<String>,
    /// Run this load, for example read_write or dbt3, or a file of statements, NAME.toml (docs/sql.md) [default: the
    /// study's]
    #[arg(long, value_name = "WORKLOAD", value_parser = load)]
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
    pub(crate) fn sets(&self) -> Vec<String> {
        self.load_keys().into_iter().chain(self.set.iter().cloned()).collect()
    }

    fn load_keys(&self) -> Vec<String> {
        match self.load.as_deref().map(LoadName::parse) {
            Some(LoadName::Statements(file)) => {
                vec!["workload.name=sql".to_owned(), format!("workload.file={}", whole_path(&file).display())]
            }
            _ => self.load.iter().map(|load| format!("workload.name={load}")).collect(),
        }
    }

    pub(crate) fn overrides(&self) -> Overrides {
        let typed = |set| (set, format!("--load {}", self.load.as_deref().unwrap_or_default()));
        Overrides {
            engine: self.engine.clone(),
            options: self.load_keys().into_iter().map(typed).collect(),
            sets: self.set.clone(),
            ..Overrides::default()
        }
    }
}

fn load(text: &str) -> Result<String, String> {
    match LoadName::parse(text) {
        LoadName::Script(_) => {
            Err("expected the name of a load, or a file of statements, NAME.toml: it holds SQL and how the tables \
                     are made (docs/sql.md)"
                .to_owned())
        }
        LoadName::Name(_) | LoadName::Statements(_) => Ok(text.to_owned()),
    }
}

/// Refuses a metric that no load has before anything is measured. A command that reports metrics of its own may name
/// them in any way.
pub(crate) fn check_metrics<'n>(study: &Study, names: impl IntoIterator<Item = &'n String>) -> Result<(), Problem> {
    if matches!(&study.base.workload.load, AnyLoad::Command(command) if !command.metrics.is_empty()) {
        return Ok(());
    }
    match names.into_iter().find(|name| !metric::is_known(name)) {
        None => Ok(()),
        Some(name) => Err(Problem::new(Exit::Usage, format!("no load has the metric `{name}`"))
            .expected("a metric such as tps, latency_ms_p99 or server_cpu_us_per_transaction")
            .advised(metric::nearest(name).map(|near| format!("did you mean `{near}`?")))),
    }
}
