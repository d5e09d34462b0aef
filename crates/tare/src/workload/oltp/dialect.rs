//! Where databases differ.

use super::Dialect;

impl Dialect {
    /// Creates table number `table` as sysbench does; SQLite gets the nearest it has.
    pub(super) fn create_table(self, table: usize) -> String {
        let (id, key, engine) = match self {
            Self::MySql => ("INTEGER NOT NULL AUTO_INCREMENT", ", PRIMARY KEY (id)", " ENGINE = InnoDB"),
            // Only these words make id the row's own number, which is what a clustered primary key is elsewhere.
            Self::Sqlite => ("INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL", "", ""),
        };
        format!(
            "CREATE TABLE sbtest{table} (id {id}, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
             pad CHAR(60) DEFAULT '' NOT NULL{key}){engine}"
        )
    }

    /// Begins a transaction. A SQLite transaction that reads first cannot write after another one has committed, so one
    /// that is going to write says so at once.
    pub(super) fn begin(self, writes: bool) -> &'static str {
        match self {
            Self::Sqlite if writes => "BEGIN IMMEDIATE",
            Self::MySql | Self::Sqlite => "BEGIN",
        }
    }

    /// Whether several sessions can fill tables at the same time. SQLite has one writer.
    pub(super) fn fills_in_parallel(self) -> bool {
        self == Self::MySql
    }

    /// Whether a table is made in one transaction, definition and all. Otherwise some thousand rows are.
    pub(super) fn makes_table_in_one_transaction(self) -> bool {
        self == Self::Sqlite
    }
}
