//! The options of `tare load tpcc`, with their help texts.

use super::oltp_args::ReportArgs;
use super::options::{Chosen, KeyOption, KeyOptions};
use super::run_args::RunArgs;
use super::server_args::ServerArgs;
use clap::{Args, ValueEnum};

/// Run TPC-C's tables and transactions on any running server; the results are not official TPC-C results and not
/// comparable with them
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP, next_line_help = true)]
pub(crate) struct TpccArgs {
    /// run: measure; prepare: create and fill the tables; check: check the standard's consistency conditions; cleanup:
    /// drop the tables
    #[arg(value_name = "COMMAND", value_enum, default_value_t = TpccCommand::Run, hide_possible_values = true)]
    pub command: TpccCommand,
    #[command(flatten)]
    pub keys: Chosen<TpccKeys>,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub report: ReportArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug)]
pub(crate) struct TpccKeys;

impl KeyOptions for TpccKeys {
    const OPTIONS: &'static [KeyOption] = &[
        KeyOption::new("warehouses", "workload", "warehouses"),
        KeyOption { value: "SHARE", taken: &["tpcc-scale"], ..KeyOption::new("scale", "workload", "tpcc_scale") },
        KeyOption::new("keying", "workload", "keying"),
    ];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TpccCommand {
    /// Measure
    Run,
    /// Create and fill the tables
    Prepare,
    /// Check the standard's twelve consistency conditions in the tables
    Check,
    /// Drop the tables
    Cleanup,
}

const AFTER_HELP: &str = "\
Each progress line has nopm (new orders per minute), transactions of all kinds per second, queries and a percentile of \
all latencies. err/s counts deadlocks and similar errors, after which the same transaction is repeated. The mix is the \
standard's, for every thread: of 100 transactions 45 are new orders, 43 payments and 4 of each other kind.

Examples:
  tare load tpcc prepare --engine mariadb --socket /run/mysqld/mysqld.sock \\
      --warehouses 4
  tare load tpcc --engine mariadb --socket /run/mysqld/mysqld.sock \\
      --warehouses 4 --threads 8 --time 5m
  tare load tpcc check --engine mariadb --socket /run/mysqld/mysqld.sock \\
      --warehouses 4
  tare load tpcc --engine postgresql --host 127.0.0.1 --warehouses 4 \\
      --threads 8 --out before --repeat 5
  tare load tpcc cleanup --engine mariadb --socket /run/mysqld/mysqld.sock";
