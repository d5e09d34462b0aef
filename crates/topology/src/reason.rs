//! Why something is not possible on a machine.

use serde::{Deserialize, Serialize};

/// The machine does not have what was requested. The request itself is valid and may be possible on another machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{reason}")]
pub struct NotRealizable {
    /// One sentence for the user, without a full stop.
    pub reason: String,
}

impl NotRealizable {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}
