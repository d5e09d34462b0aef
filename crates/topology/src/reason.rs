//! Why something cannot be done on a machine.

use serde::{Deserialize, Serialize};

/// The machine cannot do what was asked. Not a mistake in the request: another machine may be able to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{reason}")]
pub struct NotRealizable {
    /// One sentence for people, without a full stop.
    pub reason: String,
}

impl NotRealizable {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}
