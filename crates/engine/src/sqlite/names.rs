//! How the engine and what belongs to it are called.

/// Its name in a study.
pub(super) const NAME: &str = "sqlite";
/// The one file of a data directory.
pub(super) const DATABASE_FILE: &str = "tare.db";
/// The hidden subcommand of this executable that is the server.
pub(super) const SUBCOMMAND: &str = "sqlite-server";
