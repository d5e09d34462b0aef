//! What can go wrong with dbt3.

use crate::workload::error::shown;
use std::io;
use std::path::PathBuf;
use tare_cpuset::ThreadRefused;
use tare_engine::SqlError;

/// What can go wrong with the workload dbt3 or its tables.
#[derive(Debug, thiserror::Error)]
pub enum Dbt3Error {
    /// A session for filling tables could not be opened.
    #[error("cannot connect: {0}")]
    Connect(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// No thread for what is done at the same time.
    #[error(transparent)]
    Thread(#[from] ThreadRefused),
    /// A statement failed.
    #[error("{what}: {source}")]
    Statement {
        /// The query ("Q12") or the statement, shortened when long.
        what: String,
        /// The server's words.
        source: SqlError,
    },
    /// A query failed.
    #[error("Q{query}: {source}")]
    Query {
        /// Its number.
        query: u8,
        /// The server's words.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A table does not have the rows that were made for it.
    #[error("table {table} has {found} rows: expected {expected}")]
    Rows {
        /// Its name.
        table: &'static str,
        /// Rows made.
        expected: u64,
        /// Rows found.
        found: u64,
    },
    /// The pipe through which rows reach the server.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// What was attempted, a verb.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A query returned something else than it must.
    #[error("Q{query} gives a wrong answer: {difference} (against {against})")]
    Wrong {
        /// Number of the query.
        query: u8,
        /// Where it differs, what was expected and what came.
        difference: super::Difference,
        /// What the rows were compared with.
        against: String,
    },
    /// A measured execution returned another number of rows than the checked one.
    #[error("Q{query} returned {found} rows while it was measured: expected {expected}")]
    RowCount {
        /// Number of the query.
        query: u8,
        /// Rows of the checked execution.
        expected: u64,
        /// Rows of the measured one.
        found: u64,
    },
    /// A query took too long; its server was killed.
    #[error("Q{query} took longer than the {timeout_s} s that workload.query_timeout_s allows")]
    Timeout {
        /// Number of the query.
        query: u8,
        /// What it may take, seconds.
        timeout_s: f64,
    },
    /// A file of answers cannot be read.
    #[error("answers {}: line {line} is not an answer; remove the file to have it made anew", path.display())]
    Answers {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
    },
    /// The caller stopped the preparation.
    #[error("interrupted while filling tables")]
    Interrupted,
}

impl Dbt3Error {
    pub(super) fn statement(sql: &str, source: SqlError) -> Self {
        Self::Statement { what: shown(sql), source }
    }
}

impl From<Dbt3Error> for crate::workload::LoadError {
    fn from(error: Dbt3Error) -> Self {
        Self::own(error)
    }
}
