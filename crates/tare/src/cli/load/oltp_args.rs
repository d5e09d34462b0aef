//! The options of `tare load`, with the help a user reads. sysbench's names are taken too, with - or _ between words.

use super::options::{Chosen, KeyOption, KeyOptions, switch};
use super::run_args::RunArgs;
use super::server_args::ServerArgs;
use clap::Args;
use tare_drive::workload::oltp::Workload;
use tare_study::language::made::KeyValue;

/// Options of `tare load` for sysbench's workloads.
#[derive(Debug, Args)]
pub struct LoadArgs {
    /// point_select, read_only, read_write, write_only, update_index, update_non_index, insert, delete, bulk_insert,
    /// select_random_points or select_random_ranges, with or without sysbench's `oltp_` before it
    #[arg(value_name = "WORKLOAD", value_parser = workload, required = true)]
    pub workload: Option<Workload>,
    /// As sysbench has it: run, prepare (as --prepare) or cleanup (as --cleanup)
    #[arg(value_name = "COMMAND", value_parser = ["run", "prepare", "cleanup"], default_value = "run", hide_default_value = true)]
    pub command: String,
    #[command(flatten)]
    pub server: ServerArgs,
    #[command(flatten)]
    pub make_up: MakeUpArgs,
    #[command(flatten)]
    pub said: SaidArgs,
    #[command(flatten)]
    pub run: RunArgs,
    /// Survive a restart of the server: clients that lose it wait for it, and what was lost and for how long is said
    #[arg(long, conflicts_with_all = ["server", "pairing", "prepare", "cleanup", "out"])]
    pub reconnect: bool,
    /// Make and fill the tables in place of a run (bulk_insert: one without rows for each of --threads)
    #[arg(long, conflicts_with_all = ["cleanup", "out"])]
    pub prepare: bool,
    /// Drop the tables in place of a run
    #[arg(long, conflicts_with = "out")]
    pub cleanup: bool,
}

impl LoadArgs {
    /// Whether tables are made in place of a run.
    pub fn prepares(&self) -> bool {
        self.prepare || self.command == "prepare"
    }

    /// Whether tables are dropped in place of a run.
    pub fn cleans_up(&self) -> bool {
        self.cleanup || self.command == "cleanup"
    }
}

/// What a transaction is made of.
#[derive(Debug, Args)]
pub struct MakeUpArgs {
    #[command(flatten)]
    pub keys: Chosen<MakeUpKeys>,
    /// auto: statements are prepared on the server; disable: they go as text
    #[arg(long, value_name = "auto|disable", default_value = "auto", value_parser = ["auto", "disable"], alias = "db_ps_mode")]
    pub db_ps_mode: String,
    /// off: none of the four kinds of range queries
    #[arg(long, value_name = "on|off", default_value = "on", action = clap::ArgAction::Set, value_parser = switch, alias = "range_selects")]
    pub range_selects: bool,
}

/// What they set in the study.
#[derive(Debug)]
pub struct MakeUpKeys;

const fn of_load(long: &'static str, key: &'static str) -> KeyOption {
    KeyOption::new(long, "workload", key)
}

impl KeyOptions for MakeUpKeys {
    const OPTIONS: &'static [KeyOption] = &[
        of_load("tables", "tables"),
        KeyOption { also: &["table-size"], taken: &["table_size"], ..of_load("rows", "rows") },
        KeyOption {
            also: &["rand-type"],
            taken: &["rand_type"],
            more: " [default: uniform, where sysbench has special; with --prepare: special]",
            ..of_load("distribution", "distribution")
        },
        of_load("skip-trx", "skip_trx"),
        of_load("point-selects", "point_selects"),
        of_load("range-size", "range_size"),
        of_load("simple-ranges", "simple_ranges"),
        of_load("sum-ranges", "sum_ranges"),
        of_load("order-ranges", "order_ranges"),
        of_load("distinct-ranges", "distinct_ranges"),
        of_load("index-updates", "index_updates"),
        of_load("non-index-updates", "non_index_updates"),
        of_load("delete-inserts", "delete_inserts"),
        of_load("random-points", "random_points"),
        of_load("number-of-ranges", "number_of_ranges"),
        of_load("delta", "delta"),
    ];
}

/// Kinds of range queries.
const RANGES: [&str; 4] = ["simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges"];

impl MakeUpArgs {
    /// The keys of the load that they set.
    pub fn values(&self) -> Vec<KeyValue> {
        let mut values = self.keys.values().to_vec();
        values.push(("workload", "prepared", (self.db_ps_mode == "auto").into()));
        let none = RANGES.into_iter().filter(|key| !self.range_selects && self.keys.get(key).is_none());
        values.extend(none.map(|key| ("workload", key, 0_u64.into())));
        values
    }
}

/// What is said while it runs and at the end.
#[derive(Debug, Args)]
pub struct SaidArgs {
    /// Seconds between two lines while it runs; 0: none [default: 1; sysbench: 0]
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, alias = "report_interval")]
    pub report_interval: u64,
    /// Percentile of the latency in these lines, above 0 and up to 100
    #[arg(long, value_name = "P", default_value_t = 95.0, value_parser = percentile)]
    pub percentile: f64,
    /// How often each latency occurred, at the end
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set,
          default_value = "off", default_missing_value = "on", value_parser = switch)]
    pub histogram: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// A workload by its own name or that of sysbench's script.
fn workload(text: &str) -> Result<Workload, String> {
    match text {
        "tpcc" => Err("tpcc stands right behind load, before all options: tare load tpcc --help".to_owned()),
        _ => Workload::of_script(text).map_err(|e| e.to_string()),
    }
}

fn percentile(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| *number > 0.0 && *number <= 100.0);
    number.ok_or_else(|| "expected a number above 0 and up to 100".into())
}
