//! What can go wrong with an OLTP workload.

use crate::workload::error::shown;
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
    /// An answer had another number of rows than the tables hold for it: it was not the work that was asked for.
    #[error("{sql} with id {id} answered with {found} rows: expected {least} to {most}; are the tables still whole?")]
    Answer {
        /// The statement that was sent.
        sql: String,
        /// Its first id.
        id: i64,
        /// Rows that came, or were changed.
        found: u64,
        /// The fewest that may come.
        least: u64,
        /// The most that may come.
        most: u64,
    },
    /// A statement that gives back or adds one row did something else.
    #[error("{sql}: {found} rows: expected 1")]
    Count {
        /// The statement that was sent.
        sql: String,
        /// Rows that came, or were added.
        found: u64,
    },
    /// A table did not take the rows that it was sent.
    #[error("table sbtest{table} took {found} rows of {expected}: is someone else filling it?")]
    Loaded {
        /// Its number.
        table: usize,
        /// Rows that were sent.
        expected: u64,
        /// Rows that the server says it has.
        found: u64,
    },
    /// A client's own table is not there or not readable.
    #[error(
        "table sbtest{table} cannot be read: {source}; expected an own table for each client, with the columns id and k: \
         prepare them first, with as many threads"
    )]
    BulkTable {
        /// Its number.
        table: usize,
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
    /// A table that a workload makes larger or smaller has never had the rows that were asked for.
    #[error("table sbtest{table} has {found}: expected {expected}; drop and prepare the tables again")]
    TableChanged {
        /// Its number.
        table: usize,
        /// What it has.
        found: String,
        /// What it may have.
        expected: String,
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

impl OltpError {
    pub(super) fn statement(sql: &str, source: SqlError) -> Self {
        Self::Statement { sql: shown(sql), source }
    }
}

impl From<OltpError> for crate::workload::LoadError {
    fn from(error: OltpError) -> Self {
        Self::own(error)
    }
}
