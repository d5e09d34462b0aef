//! The options of `tare load`, with the help a user reads. sysbench's names are taken too, with - or _ between words.

use crate::workload::MOST_THREADS;
use crate::workload::oltp::{Counts, Workload};
use clap::Args;
use std::path::PathBuf;
use tare_engine::{DEFAULT_DATABASE, TlsMode};
use tare_load::Distribution;
use tare_topology::{Bind, Pairing, Side};

/// Options of `tare load`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct LoadArgs {
    /// point_select, read_only, read_write, write_only, update_index, update_non_index, insert, delete, bulk_insert,
    /// select_random_points or select_random_ranges, with or without sysbench's `oltp_` before it
    #[arg(value_name = "WORKLOAD", value_parser = workload)]
    pub workload: Workload,
    /// As sysbench has it: run, prepare (as --prepare) or cleanup (as --cleanup)
    #[arg(value_name = "COMMAND", value_parser = ["run", "prepare", "cleanup"], default_value = "run", hide_default_value = true)]
    pub command: String,
    #[command(flatten)]
    pub server: ServerArgs,
    #[command(flatten)]
    pub make_up: MakeUpArgs,
    #[command(flatten)]
    pub said: SaidArgs,
    /// Client threads, one connection each
    #[arg(long, default_value_t = 1, value_parser = threads)]
    pub threads: usize,
    /// Length of the measurement, for example 60s or 2m [default: 60s; sysbench: 10s]
    #[arg(long, default_value = "60s", hide_default_value = true, value_parser = seconds)]
    pub time: f64,
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
    /// Survive a restart of the server: clients that lose it wait for it, and what was lost and for how long is said
    #[arg(long, conflicts_with_all = ["server_side", "pairing", "prepare", "cleanup"])]
    pub reconnect: bool,
    /// Keep the results in this new directory, as a run does: show, compare, report and export work on it. Its lines
    /// while it runs are those of `tare run`
    #[arg(long, value_name = "DIR", conflicts_with_all = ["prepare", "cleanup", "reconnect", "histogram"])]
    pub out: Option<PathBuf>,
    /// With --out: measure so many times, each a trial of its own with new connections and its own warm-up
    #[arg(long, value_name = "N", requires = "out", default_value_t = 1, value_parser = repeats)]
    pub repeat: usize,
    /// With --out: change one key of the study that it is, for example sampling.steal_limit=off (may be repeated)
    #[arg(long, value_name = "PATH.KEY=VALUE", requires = "out")]
    pub set: Vec<String>,
    /// Make and fill the tables in place of a run (bulk_insert: one without rows for each of --threads)
    #[arg(long, conflicts_with = "cleanup")]
    pub prepare: bool,
    /// Drop the tables in place of a run
    #[arg(long)]
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

    /// Load before the measurement, seconds.
    pub fn warmup_s(&self) -> f64 {
        self.warmup.unwrap_or(WARMUP_S.min(self.time))
    }

    /// How ids are drawn while it measures.
    pub fn distribution(&self) -> Distribution {
        self.make_up.distribution.unwrap_or(Distribution::Uniform)
    }
}

/// Load before a measurement, seconds, where nobody says it.
const WARMUP_S: f64 = 10.0;

const AFTER_HELP: &str = "\
Not as in sysbench unless you say so: ids are drawn uniformly (sysbench: --rand-type=special), up to 10 s of warm-up
are left out of the figures (none), it measures 60 s (10 s), tells a line a second (--report-interval=0), draws the same
numbers every time (--rand-seed=0: others), and rolls a transaction back before it is run again (sysbench begins anew,
which commits half of it after a lock timeout). The statements, and how many of them make up a transaction, are
sysbench's own. insert, delete and bulk_insert change how many rows there are: on your own server nobody brings them
back but --cleanup and --prepare.

Example, on tables that sysbench prepared too:
  tare load point_select --engine mariadb --socket /run/mysqld/mysqld.sock --user me --tables 4 --rows 100000 --prepare
  tare load point_select --engine mariadb --socket /run/mysqld/mysqld.sock --user me --tables 4 --rows 100000 --threads 8
  tare load oltp_read_write --socket /run/mysqld/mysqld.sock --tables=4 --table-size=100000 --time=60 --db-ps-mode=disable
  tare load read_only --socket /run/mysqld/mysqld.sock --rows 100000 --out before --repeat 5";

/// Which server, and who asks.
#[derive(Debug, Args)]
pub struct ServerArgs {
    /// The server's kind: mariadb, mysql, postgresql or sqlite
    #[arg(long, default_value = "mariadb")]
    pub engine: String,
    /// Unix socket of the server [default: that of ~/.my.cnf, or of PGSERVICE]
    #[arg(long, value_name = "PATH", conflicts_with = "host", alias = "mysql-socket", alias = "mysql_socket")]
    pub socket: Option<PathBuf>,
    /// Host of the server, for TCP
    #[arg(long, aliases = ["mysql-host", "mysql_host", "pgsql-host", "pgsql_host"])]
    pub host: Option<String>,
    /// Port of the server, for TCP [default: the engine's usual one]
    #[arg(long, aliases = ["mysql-port", "mysql_port", "pgsql-port", "pgsql_port"])]
    pub port: Option<u16>,
    /// Account [default: the engine's usual one: root, or postgres]
    #[arg(long, aliases = ["mysql-user", "mysql_user", "pgsql-user", "pgsql_user"])]
    pub user: Option<String>,
    /// Ask for the password; without this it comes from TARE_PASSWORD, ~/.my.cnf or ~/.pgpass
    #[arg(long)]
    pub ask_password: bool,
    /// Refused: every user of the machine could read it
    #[arg(long, hide = true, value_name = "PASSWORD", aliases = ["mysql-password", "mysql_password", "pgsql-password", "pgsql_password"])]
    pub password: Option<String>,
    /// Refused: login paths are not read
    #[arg(long, hide = true, value_name = "NAME")]
    pub login_path: Option<String>,
    /// MySQL's option file in place of ~/.my.cnf
    #[arg(long, value_name = "FILE")]
    pub option_file: Option<PathBuf>,
    /// Service of PostgreSQL's pg_service.conf [default: PGSERVICE]
    #[arg(long, value_name = "NAME")]
    pub service: Option<String>,
    /// TLS: off, preferred, required, verify-ca or verify-full, or the words of MySQL and PostgreSQL [default: as
    /// ~/.my.cnf, the service or PGSSLMODE says, else off]
    #[arg(long, value_name = "MODE", visible_aliases = ["ssl-mode", "sslmode"])]
    pub tls: Option<TlsMode>,
    /// Certificates (PEM) of the authorities that are believed [default: those of the system]
    #[arg(long, value_name = "FILE", visible_aliases = ["ssl-ca", "sslrootcert"])]
    pub tls_ca: Option<PathBuf>,
    /// The client's own certificate (PEM)
    #[arg(long, value_name = "FILE", visible_aliases = ["ssl-cert", "sslcert"])]
    pub tls_cert: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", visible_aliases = ["ssl-key", "sslkey"])]
    pub tls_key: Option<PathBuf>,
    /// Database that holds the tables
    #[arg(long, default_value = DEFAULT_DATABASE, aliases = ["mysql-db", "mysql_db", "pgsql-db", "pgsql_db"])]
    pub database: String,
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
    Workload::of_script(text).map_err(|e| e.to_string())
}

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

fn percentile(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| *number > 0.0 && *number <= 100.0);
    number.ok_or_else(|| "expected a number above 0 and up to 100".into())
}

/// As sysbench spells it.
fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err("expected on or off".into()),
    }
}
