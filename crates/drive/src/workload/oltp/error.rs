//! Errors of the OLTP workloads.

use crate::workload::SessionError;
use tare_engine::SqlError;

#[derive(Debug, thiserror::Error)]
pub enum OltpError {
    #[error("{name} is {given}: expected {expected}")]
    Setting { name: &'static str, expected: &'static str, given: String },
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(
        "{sql} with id {id} answered with {found} rows: expected {least} to {most}; check that the tables are \
        complete"
    )]
    Answer { sql: String, id: i64, found: u64, least: u64, most: u64 },
    #[error(
        "{reads} consecutive reads of a client found no row, the last was {sql}; check that the tables are \
        complete"
    )]
    Empty { sql: String, reads: u32 },
    /// A statement that returns or adds one row did not.
    #[error("{sql}: {found} rows: expected 1; check that the tables are complete")]
    Count { sql: String, found: u64 },
    #[error(
        "table sbtest{table} accepted {found} rows of {expected}: another client may be filling it; \
         wait for its end, then drop and prepare the tables again"
    )]
    Loaded { table: usize, expected: u64, found: u64 },
    #[error(
        "table sbtest{table} cannot be read: {source}; expected one table per client, with the columns id and k: \
         prepare the tables first, with as many threads"
    )]
    BulkTable { table: usize, source: SqlError },
    #[error("table sbtest{table} cannot be read: {source}; expected {expected} rows: prepare the tables first")]
    TableMissing { table: usize, expected: u64, source: SqlError },
    /// A table whose size a workload changes never had the requested number of rows.
    #[error("table sbtest{table} has {found}: expected {expected}; drop and prepare the tables again")]
    TableChanged { table: usize, found: String, expected: String },
    #[error(
        "table sbtest{table} has {found}: expected {expected} rows with ids 1 to {expected}; \
             give the size it was prepared with, or drop and prepare the tables again"
    )]
    TableSize { table: usize, found: String, expected: u64 },
    #[error("interrupted while filling tables; incomplete tables have been dropped")]
    Interrupted,
}

impl From<OltpError> for crate::workload::LoadError {
    fn from(error: OltpError) -> Self {
        Self::own(error)
    }
}
