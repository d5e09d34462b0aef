//! How the engine and what belongs to it are called.

/// Its name in a study.
pub(super) const NAME: &str = "postgresql";
