//! Errors of the workload tpcc.

use super::Statement;
use crate::workload::SessionError;
use tare_text::count;

#[derive(Debug, thiserror::Error)]
pub enum TpccError {
    #[error(transparent)]
    Session(#[from] SessionError),
    /// An answer had an unexpected number of rows, or a row that cannot be parsed.
    #[error("{statement} in {kind} answered with {found}: expected {expected}; check that the tables are complete")]
    Answer { kind: String, statement: Statement, expected: &'static str, found: String },
    #[error(
        "consistency condition {number} does not hold (clause 3.3.2.{number}: {says}): {place}: {left} against {right}. \
         The server has lost or invented rows, or another client changed them"
    )]
    Inconsistent { number: usize, says: &'static str, place: String, left: String, right: String },
    #[error(
        "table {table} {found}: expected {}; prepare the tables first, with the same warehouses and scale",
        count(*expected as usize, "row")
    )]
    Table { table: &'static str, found: String, expected: i64 },
    #[error(
        "table {table} does not have TPC-C's columns; nothing was dropped: name another database (--database NAME), or \
         drop the table yourself"
    )]
    NotOurs { table: &'static str },
    #[error("interrupted while filling tables; incomplete tables have been dropped")]
    Interrupted,
}

impl From<TpccError> for crate::workload::LoadError {
    fn from(error: TpccError) -> Self {
        Self::own(error)
    }
}
