//! The SQL of SQLite.

use crate::contract::dialect::{Backlog, Collation, Dialect, Done, Identity};
use crate::{Code, Session, SqlError};
use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct SqliteDialect;

impl Dialect for SqliteDialect {
    /// A transaction that reads first cannot write after another one has committed, so a transaction that is going to
    /// write takes the write lock at its beginning.
    fn begin(&self, writes: bool) -> &'static str {
        if writes { "BEGIN IMMEDIATE" } else { "BEGIN" }
    }

    /// A transaction that writes has the write lock from its beginning.
    fn locks_rows(&self) -> &'static str {
        ""
    }

    /// SQLite allows one writer at a time.
    fn fills_in_parallel(&self) -> bool {
        false
    }

    fn makes_table_in_one_transaction(&self) -> bool {
        true
    }

    /// Only this definition makes the column the rowid, which corresponds to a clustered primary key elsewhere.
    fn identity(&self) -> Identity {
        Identity { definition: "INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL", is_key: true }
    }

    /// `SQLITE_CONSTRAINT_PRIMARYKEY` and `SQLITE_CONSTRAINT_ROWID`.
    fn is_duplicate(&self, error: &SqlError) -> bool {
        matches!(error.code, Some(Code::Number(1555 | 2579)))
    }

    /// The rows are stored in their primary key, as in InnoDB; with a single INTEGER key they always are. Text
    /// compares by bytes by default.
    fn table_suffix(&self, _collation: Collation, key_columns: usize) -> &'static str {
        if key_columns > 1 { " WITHOUT ROWID" } else { "" }
    }

    fn year(&self, column: &str) -> String {
        format!("CAST(STRFTIME('%Y', {column}) AS INTEGER)")
    }

    /// Otherwise two uses of a view may add in different orders, and a sum of reals may differ from itself.
    fn materialized(&self) -> &'static str {
        "MATERIALIZED "
    }

    fn reads_through(&self, index: Option<&str>) -> String {
        index.map_or_else(|| "NOT INDEXED".to_owned(), |name| format!("INDEXED BY {name}"))
    }

    fn read_all(&self, session: &mut dyn Session) -> Result<usize, SqlError> {
        let names = "SELECT type, tbl_name, name FROM sqlite_schema WHERE type IN ('table', 'index') \
                     AND rootpage > 0 AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
        let found = session.query(names)?;
        for row in &found {
            let [Some(kind), Some(table), Some(name)] = row.as_slice() else { continue };
            let (table, name) = (table.replace('"', "\"\""), name.replace('"', "\"\""));
            session.run(&match kind.as_str() {
                "index" => format!("SELECT COUNT(*) FROM \"{table}\" INDEXED BY \"{name}\""),
                _ => format!("SELECT COUNT(*) FROM \"{table}\" NOT INDEXED"),
            })?;
        }
        Ok(found.len())
    }

    /// The steps as a tree, each indented under its parent; SQLite prints no estimates here.
    fn plan(&self, session: &mut dyn Session, sql: &str) -> Result<Option<String>, SqlError> {
        let mut depths: BTreeMap<String, usize> = BTreeMap::new();
        let mut lines = Vec::new();
        for row in session.query(&format!("EXPLAIN QUERY PLAN {sql}"))? {
            let [Some(id), Some(parent), _, Some(step)] = row.as_slice() else { continue };
            let depth = depths.get(parent).map_or(0, |depth| depth + 1);
            depths.insert(id.clone(), depth);
            lines.push(format!("{:indent$}{step}", "", indent = 2 * depth));
        }
        Ok(Some(lines.join("\n")))
    }

    /// Pages of the write-ahead log that are not in the database yet. The query itself moves them there. Without such
    /// a log there are none.
    fn backlog(&self, session: &mut dyn Session) -> Result<Vec<Backlog>, SqlError> {
        let rows = session.query("PRAGMA wal_checkpoint(TRUNCATE)")?;
        let figure = |at: usize| rows.first()?.get(at)?.as_deref()?.parse::<i64>().ok();
        let (busy, log, moved) = (figure(0).unwrap_or(0), figure(1).unwrap_or(0), figure(2).unwrap_or(0));
        let left = (log - moved).max(busy).max(0) as u64;
        Ok(vec![Backlog { what: "wal_pages", amount: left, done: Done::AtMost(0) }])
    }

    /// LIKE ignores case by default.
    fn query_session(&self) -> &'static [&'static str] {
        &["PRAGMA case_sensitive_like = ON"]
    }
}
