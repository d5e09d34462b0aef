//! Which scripts, on how much data.

use strum::{Display, EnumString, VariantNames};
use tare_text::UnknownWord;

/// How statements are sent: pgbench's `--protocol`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Display, EnumString, VariantNames)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownWord, parse_err_fn = unknown)]
pub enum Protocol {
    /// As text; pgbench's default.
    #[default]
    Simple,
    /// Parsed for every execution.
    Extended,
    /// Prepared once a connection.
    Prepared,
}

fn unknown(found: &str) -> UnknownWord {
    UnknownWord::among(found, Protocol::VARIANTS)
}

#[derive(Debug, Clone, PartialEq)]
pub struct PgbenchSettings {
    /// Built-in names or paths, each with a weight if wanted.
    pub scripts: Vec<String>,
    /// pgbench's scale: 100,000 accounts each.
    pub scale: u64,
    pub protocol: Protocol,
    /// Threads of pgbench itself; none: one a connection.
    pub jobs: Option<usize>,
    /// Transactions a second over all connections; none: as fast as they go.
    pub rate: Option<f64>,
    /// Share of transactions that are logged, from which latencies come.
    pub log_fraction: f64,
    pub options: Vec<String>,
    /// The program; none: found as usual.
    pub program: Option<String>,
    /// Whether every table and every index is read before the first sample.
    pub preload: bool,
}

impl Default for PgbenchSettings {
    fn default() -> Self {
        Self {
            scripts: vec!["tpcb-like".to_owned()],
            scale: 1,
            protocol: Protocol::default(),
            jobs: None,
            rate: None,
            log_fraction: 1.0,
            options: Vec::new(),
            program: None,
            preload: false,
        }
    }
}
