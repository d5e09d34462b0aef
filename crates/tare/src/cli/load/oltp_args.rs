//! The options of `tare load`, with their help texts. sysbench's names are accepted too, with - or _ between words.

use super::options::{Chosen, KeyOption, KeyOptions, RunArgs, ServerArgs, switch};
use clap::Args;
use std::fmt;
use std::path::PathBuf;
use strum::VariantNames;
use tare_drive::workload::AnyLoad;
use tare_drive::workload::oltp::Workload;
use tare_drive::workload::sql::BUILTIN_NAMES;
use tare_study::language::load_name::LoadName;
use tare_study::language::made::KeyValue;
use tare_text::{nearest, nearest_of};

/// Options of `tare load` for sysbench's workloads.
#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// point_select, read_only, read_write, write_only, update_index, update_non_index, insert, delete, bulk_insert,
    /// select_random_points or select_random_ranges, with or without sysbench's `oltp_` before it; microbenchmarks, a
    /// file of statements that comes with tare; or a file: SQL statements, a script of pgbench, or TOML as for the
    /// workload sql
    #[arg(value_name = "WORKLOAD", value_parser = workload, required_unless_present = "file", conflicts_with = "file")]
    pub workload: Option<Work>,
    /// As in sysbench: run, prepare (as --prepare) or cleanup (as --cleanup)
    #[arg(value_name = "COMMAND", value_parser = ["run", "prepare", "cleanup"], default_value = "run", hide_default_value = true)]
    pub command: String,
    /// Create and fill the tables instead of a run (bulk_insert: one empty table for each of --threads)
    #[arg(long, conflicts_with_all = ["cleanup", "out"])]
    pub prepare: bool,
    /// Drop the tables instead of a run
    #[arg(long, conflicts_with = "out")]
    pub cleanup: bool,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub scripts: ScriptArgs,
    /// Survive a restart of the server: clients wait until it is back, and lost transactions and the downtime are
    /// reported
    #[arg(long, conflicts_with_all = ["server", "pairing", "prepare", "cleanup", "out"])]
    pub reconnect: bool,
    #[command(flatten)]
    pub report: ReportArgs,
    #[command(flatten)]
    pub server: ServerArgs,
    #[command(flatten)]
    pub make_up: MakeUpArgs,
}

/// A workload of sysbench, or the user's own statements.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    Oltp(Workload),
    File(PathBuf),
    /// A file of statements that comes with tare.
    Builtin(String),
}

/// Scripts of the user's own.
#[derive(Debug, Args)]
pub(crate) struct ScriptArgs {
    /// A file of SQL or a script of pgbench, which runs WEIGHT times as often as one of weight 1 (may be repeated)
    #[arg(short = 'f', long, value_name = "FILE[@WEIGHT]", value_parser = weighed)]
    pub file: Vec<Weighed>,
    /// Run only these transactions of a file of statements (their names, separated by commas)
    #[arg(long, value_name = "NAME[,NAME]")]
    pub transaction: Option<String>,
    /// A constant for :NAME in scripts, such as pgbench's scale (may be repeated)
    #[arg(short = 'D', long, value_name = "NAME=NUMBER", value_parser = defined)]
    pub define: Vec<(String, i64)>,
}

/// A file and its relative frequency.
#[derive(Debug, Clone)]
pub(crate) struct Weighed {
    pub path: PathBuf,
    pub weight: u32,
}

impl fmt::Display for Weighed {
    /// As it is written on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.weight {
            1 => write!(f, "{}", self.path.display()),
            weight => write!(f, "{}@{weight}", self.path.display()),
        }
    }
}

fn weighed(text: &str) -> Result<Weighed, String> {
    let (path, weight) = match text.rsplit_once('@') {
        Some((path, weight)) => {
            let weight = weight.parse().ok().filter(|weight| *weight > 0);
            (path, weight.ok_or("expected FILE@WEIGHT, the weight a whole number above 0")?)
        }
        None => (text, 1),
    };
    Ok(Weighed { path: path.into(), weight })
}

fn defined(text: &str) -> Result<(String, i64), String> {
    let found = text.split_once('=').and_then(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
    found.ok_or_else(|| "expected NAME=NUMBER".to_owned())
}

impl LoadArgs {
    pub(crate) fn prepares(&self) -> bool {
        self.prepare || self.command == "prepare"
    }

    pub(crate) fn cleans_up(&self) -> bool {
        self.cleanup || self.command == "cleanup"
    }
}

#[derive(Debug, Args)]
pub(crate) struct MakeUpArgs {
    #[command(flatten)]
    pub keys: Chosen<MakeUpKeys>,
    /// auto: statements are prepared on the server; disable: they are sent as text
    #[arg(long, value_name = "auto|disable", default_value = "auto", value_parser = ["auto", "disable"], alias = "db_ps_mode",
        help_heading = STATEMENTS)]
    pub db_ps_mode: String,
    /// off: leave out all four kinds of range queries
    #[arg(long, value_name = "on|off", default_value = "on", action = clap::ArgAction::Set, value_parser = switch, alias = "range_selects",
        help_heading = STATEMENTS)]
    pub range_selects: bool,
}

#[derive(Debug)]
pub(crate) struct MakeUpKeys;

const fn of_load(long: &'static str, key: &'static str) -> KeyOption {
    KeyOption { heading: STATEMENTS, ..KeyOption::new(long, "workload", key) }
}

const STATEMENTS: &str = "Tables and statements of sysbench's workloads";

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

const RANGES: [&str; 4] = ["simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges"];

impl MakeUpArgs {
    /// Whether an option was given that has no meaning for a file of statements.
    pub(crate) fn is_of_sysbench(&self) -> bool {
        let of_files = ["tables", "rows"];
        self.keys.values().iter().any(|(_, key, _)| !of_files.contains(key))
            || self.db_ps_mode != "auto"
            || !self.range_selects
    }

    pub(crate) fn values(&self) -> Vec<KeyValue> {
        let mut values = self.keys.values().to_vec();
        values.push(("workload", "prepared", (self.db_ps_mode == "auto").into()));
        let none = RANGES.into_iter().filter(|key| !self.range_selects && self.keys.get(key).is_none());
        values.extend(none.map(|key| ("workload", key, 0_u64.into())));
        values
    }
}

/// What is said while it runs and at the end.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Seconds between progress lines; 0: none [default: 1; sysbench: 0]
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, alias = "report_interval")]
    pub report_interval: u64,
    /// Percentile of the latency in progress lines, above 0 and up to 100
    #[arg(long, value_name = "P", default_value_t = 95.0, value_parser = percentile)]
    pub percentile: f64,
    /// Print a histogram of latencies at the end
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set,
          default_value = "off", default_missing_value = "on", value_parser = switch)]
    pub histogram: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

const TPCC: &str = "tpcc";

/// A workload by its own name or that of sysbench's script.
fn workload(text: &str) -> Result<Work, String> {
    match LoadName::parse(text) {
        LoadName::Statements(file) | LoadName::Script(file) => Ok(Work::File(file)),
        LoadName::Name(name) if BUILTIN_NAMES.contains(&name.as_str()) => Ok(Work::Builtin(name)),
        LoadName::Name(name) if name == TPCC => {
            Err("tpcc must follow load directly, before all options: tare load tpcc --help".to_owned())
        }
        LoadName::Name(name) => Workload::of_script(&name).map(Work::Oltp).map_err(|_| no_load(&name)),
    }
}

/// The error for an unknown load: all loads, the nearest first.
fn no_load(text: &str) -> String {
    if AnyLoad::names().contains(&text) {
        return format!("a load of tare load; {text} is only for studies: name = \"{text}\" under [workload]");
    }
    let known = || Workload::VARIANTS.iter().copied().chain([TPCC]).chain(BUILTIN_NAMES);
    let wrong = text.strip_prefix("oltp_").unwrap_or(text);
    let mut names = nearest_of(wrong, known(), known().count());
    let further: Vec<&str> = known().filter(|name| !names.contains(name)).collect();
    names.extend(further);
    let near = tare_text::did_you_mean(nearest(wrong, known()));
    format!(
        "one of {}; or a file: NAME.sql (SQL, or a script of pgbench), NAME.toml (docs/sql.md); dbt3 and others \
         are loads of studies{near}",
        names.join(", ")
    )
}

fn percentile(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| *number > 0.0 && *number <= 100.0);
    number.ok_or_else(|| "expected a number above 0 and up to 100".into())
}
