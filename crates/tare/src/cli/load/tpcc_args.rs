//! The options of `tare load tpcc`, with the help a user reads.

use super::oltp_args::{SaidArgs, switch};
use super::run_args::RunArgs;
use super::server_args::ServerArgs;
use clap::{Args, ValueEnum};
use tare_drive::workload::tpcc::{LEAST_SCALE, MOST_WAREHOUSES};

/// TPC-C's tables and transactions on any running server; no official TPC-C result, nor comparable with one
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct TpccArgs {
    /// run: measure; prepare: make and fill the tables; check: look whether the standard's consistency conditions hold
    /// in them; cleanup: drop them
    #[arg(value_name = "COMMAND", value_enum, default_value_t = TpccCommand::Run, hide_possible_values = true)]
    pub command: TpccCommand,
    /// Warehouses, each about 500,000 rows and 137 MB; thread n works for warehouse n, and begins anew with the first
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=MOST_WAREHOUSES))]
    pub warehouses: u64,
    /// Share of the standard's items and customers, 0.01 to 1; below 1 only for a try: it is then another benchmark
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = scale, alias = "tpcc-scale")]
    pub scale: f64,
    /// Wait before and after each transaction as the standard's terminals do, of which a warehouse has ten
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set,
          default_value = "off", default_missing_value = "on", value_parser = switch)]
    pub keying: bool,
    #[command(flatten)]
    pub server: ServerArgs,
    #[command(flatten)]
    pub said: SaidArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

/// What `tare load tpcc` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TpccCommand {
    /// Measure
    Run,
    /// Make and fill the tables
    Prepare,
    /// Look whether the standard's twelve consistency conditions hold in the tables
    Check,
    /// Drop the tables
    Cleanup,
}

const AFTER_HELP: &str = "\
A line an interval says nopm (new orders a minute), transactions of all kinds a second, queries, a percentile of all
latencies, and err/s (deadlocks and the like, after which the same transaction is run again). The mix is the standard's:
45 new orders, 43 payments and 4 of each other in a hundred, for every thread.

Example:
  tare load tpcc prepare --engine mariadb --socket /run/mysqld/mysqld.sock --warehouses 4
  tare load tpcc --engine mariadb --socket /run/mysqld/mysqld.sock --warehouses 4 --threads 8 --time 5m
  tare load tpcc check --engine mariadb --socket /run/mysqld/mysqld.sock --warehouses 4
  tare load tpcc --engine postgresql --host 127.0.0.1 --warehouses 4 --threads 8 --out before --repeat 5
  tare load tpcc cleanup --engine mariadb --socket /run/mysqld/mysqld.sock";

fn scale(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|scale| (LEAST_SCALE..=1.0).contains(scale));
    number.ok_or_else(|| format!("expected a number from {LEAST_SCALE} to 1"))
}
