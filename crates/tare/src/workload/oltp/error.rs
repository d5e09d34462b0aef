//! What can go wrong with an OLTP workload.

use tare_engine::SqlError;

/// What can go wrong with an OLTP workload or its tables.
#[derive(Debug, thiserror::Error)]
pub enum OltpError {
    /// A setting is out of its range.
    #[error("{name} is {given}: expected {expected}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What it was.
        given: String,
    },
    /// A session for filling tables could not be opened.
    #[error("cannot connect: {0}")]
    Connect(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A statement failed.
    #[error("{sql}: {source}")]
    Statement {
        /// The statement, shortened when long.
        sql: String,
        /// The server's words.
        source: SqlError,
    },
    /// A table is not there or not readable.
    #[error("table sbtest{table} cannot be read: {source}; expected {expected} rows: prepare the tables first")]
    TableMissing {
        /// Its number.
        table: usize,
        /// Rows asked for.
        expected: u64,
        /// The server's words.
        source: SqlError,
    },
    /// A table has other rows than asked for.
    #[error(
        "table sbtest{table} has {found}: expected {expected} rows with ids 1 to {expected}; \
             name the size it was prepared with, or drop and prepare the tables again"
    )]
    TableSize {
        /// Its number.
        table: usize,
        /// What it has.
        found: String,
        /// Rows asked for.
        expected: u64,
    },
    /// The caller stopped the preparation.
    #[error("interrupted while filling tables; the tables that were not complete have been dropped")]
    Interrupted,
}

/// Characters of a statement that an error shows.
const SHOWN: usize = 120;

impl OltpError {
    pub(super) fn statement(sql: &str, source: SqlError) -> Self {
        let mut shown: String = sql.chars().take(SHOWN).collect();
        if shown.len() < sql.len() {
            shown.push_str(" ...");
        }
        Self::Statement { sql: shown, source }
    }
}
