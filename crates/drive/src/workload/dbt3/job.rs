//! What filling the tables is given, and how it runs its statements.

use super::{Dbt3Error, Indexes, Scale};
use std::path::Path;
use tare_engine::{Dialect, Session};

#[derive(Debug, Clone, Copy)]
pub struct Fill<'a> {
    pub scale: Scale,
    pub indexes: Indexes,
    pub dialect: &'static dyn Dialect,
    /// Sessions that fill tables at the same time, each a table of its own, and threads that make rows. A database with
    /// one writer uses one session.
    pub parallel: usize,
    /// A directory with room for the sorting of indexes, in which the server, which must run as this user on this
    /// machine, can open a named pipe and make temporary files. It must not lie in the server's data directory, and is
    /// used only where [`Dialect::needs_scratch`].
    pub directory: &'a Path,
}

/// Hears the number of rows that were added, and says when to stop.
pub(super) type Progress<'a> = &'a (dyn Fn(u64) -> Result<(), Dbt3Error> + Sync);

/// Runs one statement; its failure shows it.
pub(super) fn run(session: &mut dyn Session, sql: &str) -> Result<u64, Dbt3Error> {
    session.run(sql).map_err(|source| Dbt3Error::statement(sql, source))
}
