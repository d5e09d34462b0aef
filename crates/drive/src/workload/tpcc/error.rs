//! What can go wrong with the workload tpcc.

use super::Statement;
use crate::workload::error::shown;
use tare_engine::SqlError;

/// What can go wrong with the workload tpcc or its tables.
#[derive(Debug, thiserror::Error)]
pub enum TpccError {
    /// A session for filling or checking tables could not be opened.
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
    /// A table could not be made: one of an earlier time may be in the way.
    #[error("{sql}: {source}")]
    Create {
        /// The statement, shortened when long.
        sql: String,
        /// The server's words.
        source: SqlError,
    },
    /// An answer had another number of rows than it must, or one that cannot be read.
    #[error("{statement} in {kind} answered with {found}: expected {expected}; are the tables still whole?")]
    Answer {
        /// The transaction, in words.
        kind: String,
        /// The statement.
        statement: Statement,
        /// What was expected.
        expected: &'static str,
        /// What came.
        found: String,
    },
    /// A consistency condition does not hold.
    #[error(
        "consistency condition {number} does not hold (clause 3.3.2.{number}: {says}): {place}: {left} against {right}. \
         The server has lost or invented rows, or somebody else changed them"
    )]
    Inconsistent {
        /// 1 to 12.
        number: usize,
        /// What it says.
        says: &'static str,
        /// Where it does not hold.
        place: String,
        /// What is there.
        left: String,
        /// What should be the same.
        right: String,
    },
    /// The tables are not there, or are others.
    #[error(
        "table {table} {found}: expected {expected} rows; prepare the tables first, with the same warehouses and scale"
    )]
    Table {
        /// Its name.
        table: &'static str,
        /// What was found, in words.
        found: String,
        /// Rows that it should have.
        expected: i64,
    },
    /// Dropping the tables would drop someone else's.
    #[error("table {table} is not TPC-C's: it has other columns; nothing was dropped")]
    NotOurs {
        /// Its name.
        table: &'static str,
    },
    /// The caller stopped the preparation.
    #[error("interrupted while filling tables; those that were not complete have been dropped")]
    Interrupted,
}

impl TpccError {
    pub(super) fn statement(sql: &str, source: SqlError) -> Self {
        Self::Statement { sql: shown(sql), source }
    }

    pub(super) fn create(sql: &str, source: SqlError) -> Self {
        Self::Create { sql: shown(sql), source }
    }
}

impl From<TpccError> for crate::workload::LoadError {
    fn from(error: TpccError) -> Self {
        Self::own(error)
    }
}
