use crate::bind::BindError;

/// Why a measurement could not be made.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// A measuring thread could not be put where it belongs, or its memory could not.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The plan is for a described machine.
    #[error("only the machine this process runs on can be measured, not a described one")]
    NotThisMachine,
    /// A thread could not be started, or ended early.
    #[error("a measuring thread failed: {0}")]
    Thread(String),
}
