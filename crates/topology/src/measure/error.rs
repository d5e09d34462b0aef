//! What can go wrong while distances are measured.

use crate::bind::BindError;
use tare_cpuset::AffinityError;

/// Why a measurement could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// A measuring thread could not be put where it belongs.
    #[error(transparent)]
    Affinity(#[from] AffinityError),
    /// Its memory could not.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A thread could not be started, or ended early.
    #[error("a measuring thread failed: {0}")]
    Thread(String),
}
