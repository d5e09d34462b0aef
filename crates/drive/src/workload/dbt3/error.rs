//! Errors of the workload dbt3.

use crate::workload::SessionError;
use std::io;
use std::path::PathBuf;
use tare_cpuset::ThreadRefused;

#[derive(Debug, thiserror::Error)]
pub enum Dbt3Error {
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The system started no thread for concurrent work.
    #[error(transparent)]
    Thread(#[from] ThreadRefused),
    #[error("Q{query}: {source}")]
    Query { query: u8, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("table {table} has {found} rows: expected {expected}; drop and prepare the tables again")]
    Rows { table: &'static str, expected: u64, found: u64 },
    #[error("cannot {what} {}: {source}", path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "Q{query} gives a wrong answer: {difference} (against {against}); the tables are not those of this scale, or the \
         server computes it wrongly"
    )]
    Wrong {
        query: u8,
        /// Where it differs, with the expected and the returned value.
        difference: super::Difference,
        against: String,
    },
    /// A measured execution returned another number of rows than the checked one.
    #[error(
        "Q{query} returned {found} rows while it was measured: expected {expected}; another client may have changed the \
         tables"
    )]
    RowCount { query: u8, expected: u64, found: u64 },
    #[error(
        "Q{query} took longer than the {timeout_s} s that workload.query_timeout_s allows: raise it, or leave the query \
         out of workload.queries"
    )]
    Timeout { query: u8, timeout_s: f64 },
    #[error("answers {}: line {line} is not an answer; remove the file to create it again", path.display())]
    Answers { path: PathBuf, line: usize },
    #[error("interrupted while filling tables")]
    Interrupted,
}

impl From<Dbt3Error> for crate::workload::LoadError {
    fn from(error: Dbt3Error) -> Self {
        Self::own(error)
    }
}
