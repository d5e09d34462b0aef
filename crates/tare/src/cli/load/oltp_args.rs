//! The options of `tare load`, with the help a user reads. sysbench's names are taken too, with - or _ between words.

use super::run_args::RunArgs;
use super::server_args::ServerArgs;
use clap::Args;
use tare_drive::workload::oltp::{Counts, Workload};
use tare_load::Distribution;

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
    #[arg(long, conflicts_with_all = ["server_side", "pairing", "prepare", "cleanup", "out"])]
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

    /// How ids are drawn while it measures.
    pub fn distribution(&self) -> Distribution {
        self.make_up.distribution.unwrap_or(Distribution::Uniform)
    }
}

/// What a transaction is made of.
#[derive(Debug, Args)]
pub struct MakeUpArgs {
    /// Number of tables sbtest1, sbtest2 ...
    #[arg(long, default_value_t = 1)]
    pub tables: usize,
    /// Rows that each table has
    #[arg(long, default_value_t = 10_000, visible_alias = "table-size", alias = "table_size")]
    pub rows: u64,
    /// How ids are drawn: uniform, zipfian, special, pareto or gaussian [default: uniform, where sysbench has
    /// special; with --prepare: special]
    #[arg(long, visible_alias = "rand-type", alias = "rand_type")]
    pub distribution: Option<Distribution>,
    /// auto: statements are prepared on the server; disable: they go as text
    #[arg(long, value_name = "auto|disable", default_value = "auto", value_parser = ["auto", "disable"], alias = "db_ps_mode")]
    pub db_ps_mode: String,
    /// Send no BEGIN and COMMIT: every statement is a transaction of its own
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set,
          default_value = "off", default_missing_value = "on", value_parser = switch, alias = "skip_trx")]
    pub skip_trx: bool,
    /// Point selects in a transaction [default: 10]
    #[arg(long, value_name = "N", alias = "point_selects")]
    pub point_selects: Option<u32>,
    /// off: none of the four kinds of range queries
    #[arg(long, value_name = "on|off", default_value = "on", action = clap::ArgAction::Set, value_parser = switch, alias = "range_selects")]
    pub range_selects: bool,
    /// Ids in a range query [default: 100]
    #[arg(long, value_name = "N", alias = "range_size")]
    pub range_size: Option<u32>,
    /// Simple range queries in a transaction [default: 1]
    #[arg(long, value_name = "N", alias = "simple_ranges")]
    pub simple_ranges: Option<u32>,
    /// Sums over a range in a transaction [default: 1]
    #[arg(long, value_name = "N", alias = "sum_ranges")]
    pub sum_ranges: Option<u32>,
    /// Sorted range queries in a transaction [default: 1]
    #[arg(long, value_name = "N", alias = "order_ranges")]
    pub order_ranges: Option<u32>,
    /// Range queries for distinct values in a transaction [default: 1]
    #[arg(long, value_name = "N", alias = "distinct_ranges")]
    pub distinct_ranges: Option<u32>,
    /// Updates of the indexed column in a transaction [default: 1]
    #[arg(long, value_name = "N", alias = "index_updates")]
    pub index_updates: Option<u32>,
    /// Updates of a column without index in a transaction [default: 1]
    #[arg(long, value_name = "N", alias = "non_index_updates")]
    pub non_index_updates: Option<u32>,
    /// Deletes and inserts of one row in a transaction [default: 1]
    #[arg(long, value_name = "N", alias = "delete_inserts")]
    pub delete_inserts: Option<u32>,
    /// Keys that select_random_points asks for [default: 10]
    #[arg(long, value_name = "N", alias = "random_points")]
    pub random_points: Option<u32>,
    /// Ranges that select_random_ranges counts [default: 10]
    #[arg(long, value_name = "N", alias = "number_of_ranges")]
    pub number_of_ranges: Option<u32>,
    /// How far each of them goes beyond its first key [default: 5]
    #[arg(long, value_name = "N")]
    pub delta: Option<u32>,
}

impl MakeUpArgs {
    /// The make-up of a transaction.
    pub fn counts(&self) -> Counts {
        let usual = Counts::default();
        let ranges = |asked: Option<u32>, usual: u32| asked.unwrap_or(if self.range_selects { usual } else { 0 });
        Counts {
            point_selects: self.point_selects.unwrap_or(usual.point_selects),
            simple_ranges: ranges(self.simple_ranges, usual.simple_ranges),
            sum_ranges: ranges(self.sum_ranges, usual.sum_ranges),
            order_ranges: ranges(self.order_ranges, usual.order_ranges),
            distinct_ranges: ranges(self.distinct_ranges, usual.distinct_ranges),
            index_updates: self.index_updates.unwrap_or(usual.index_updates),
            non_index_updates: self.non_index_updates.unwrap_or(usual.non_index_updates),
            delete_inserts: self.delete_inserts.unwrap_or(usual.delete_inserts),
            range_size: self.range_size.unwrap_or(usual.range_size).max(1),
            random_points: self.random_points.unwrap_or(usual.random_points).max(1),
            number_of_ranges: self.number_of_ranges.unwrap_or(usual.number_of_ranges).max(1),
            delta: self.delta.unwrap_or(usual.delta),
        }
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

/// As sysbench spells it.
pub fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err("expected on or off".into()),
    }
}
