//! How the engine and what belongs to it are called.

/// Its name in a study.
pub(super) const NAME: &str = "postgresql";

/// The number in the name of the socket of a cluster that listens there alone.
pub(super) const PORT: u16 = 5432;
