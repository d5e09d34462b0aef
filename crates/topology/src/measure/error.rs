//! Errors of measuring distances.

use crate::bind::BindError;
use tare_cpuset::AffinityError;

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// A measuring thread could not be bound to its CPU.
    #[error(transparent)]
    Affinity(#[from] AffinityError),
    /// Its memory could not be bound to its node.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A thread could not be started, or ended early.
    #[error("a measuring thread failed: {0}")]
    Thread(String),
}
