//! Errors of the user's own statements.

use crate::workload::error::{LoadError, shown};
use std::io;
use std::path::PathBuf;
use tare_engine::SqlError;

/// Errors of a file of statements, its data or its transactions.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SqlLoadError {
    #[error("{what}: {sql}: {source}")]
    Statement { what: String, sql: String, source: SqlError },
    /// A statement of the file, by the name of its metrics.
    #[error("{name}: {sql}: {source}")]
    Refused { name: String, sql: String, source: SqlError },
    #[error("cannot read {}: {source}; paths are relative to the file of statements", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: {reason}", path.display())]
    Rows { path: PathBuf, reason: String },
    #[error("interrupted while filling tables")]
    Interrupted,
    #[error(
        "no transaction was finished in {elapsed_s:.1} s of a sample{}: make samples longer (sampling.sample_s; on the \
         command line --time), or correct the statements",
        errors.as_ref().map(|e| format!(" (errors: {e})")).unwrap_or_default()
    )]
    Nothing { elapsed_s: f64, errors: Option<String> },
}

impl SqlLoadError {
    pub(super) fn statement(what: impl Into<String>, sql: &str, source: SqlError) -> Self {
        Self::Statement { what: what.into(), sql: shown(sql), source }
    }

    pub(super) fn refused(name: &str, sql: &str, source: SqlError) -> Self {
        Self::Refused { name: name.to_owned(), sql: shown(sql), source }
    }
}

impl LoadError {
    /// The name (as in its metrics) of the user's statement that the server refused.
    pub fn refused_statement(&self) -> Option<&str> {
        let Self::Own(error) = self else { return None };
        match error.downcast_ref()? {
            SqlLoadError::Refused { name, .. } => Some(name),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_engine::SqlErrorKind;

    #[test]
    fn a_statement_in_which_the_connection_was_lost_is_not_wrong_itself() {
        let failed = |kind| LoadError::own(SqlLoadError::refused("q", "SELECT 1", SqlError::own(kind, "why")));
        assert!(failed(SqlErrorKind::Lost).is_connection_lost());
        assert!(!failed(SqlErrorKind::Other).is_connection_lost());
    }
}
