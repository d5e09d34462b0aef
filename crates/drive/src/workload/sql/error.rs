//! What can go wrong with statements of one's own.

use crate::workload::error::shown;
use std::io;
use std::path::PathBuf;
use tare_engine::SqlError;

/// What can go wrong with a file of statements, its data or its transactions.
#[derive(Debug, thiserror::Error)]
pub enum SqlLoadError {
    /// A statement failed.
    #[error("{what}: {sql}: {source}")]
    Statement {
        /// Where it stands.
        what: String,
        /// The statement, shortened when long.
        sql: String,
        /// The server's words.
        source: SqlError,
    },
    /// A file of the data cannot be read.
    #[error("cannot read {}: {source}; paths are relative to the file of statements", path.display())]
    File {
        /// The file in question.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Rows that do not fit.
    #[error("{}: {reason}", path.display())]
    Rows {
        /// The file in question.
        path: PathBuf,
        /// Why, with the line.
        reason: String,
    },
    /// The caller stopped the preparation.
    #[error("interrupted while filling tables")]
    Interrupted,
    /// Not one transaction was finished in a whole sample.
    #[error("no transaction was finished in {elapsed_s:.1} s of a sample{}", errors.as_ref().map(|e| format!("; errors: {e}")).unwrap_or_default())]
    Nothing {
        /// Length of the sample, seconds.
        elapsed_s: f64,
        /// Errors that were counted, in words.
        errors: Option<String>,
    },
}

impl SqlLoadError {
    /// An error of a statement that stands somewhere.
    pub(super) fn statement(what: impl Into<String>, sql: &str, source: SqlError) -> Self {
        Self::Statement { what: what.into(), sql: shown(sql), source }
    }
}
