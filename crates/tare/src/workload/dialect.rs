//! The SQL that a database speaks. What a workload does with it stands in the workload's own folder.

/// The SQL that a database speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// MariaDB and MySQL, tables in InnoDB.
    MySql,
    /// SQLite.
    Sqlite,
}

impl Dialect {
    /// The dialect of an engine by its name.
    pub fn of(engine: &str) -> Self {
        if engine == "sqlite" { Self::Sqlite } else { Self::MySql }
    }
}
