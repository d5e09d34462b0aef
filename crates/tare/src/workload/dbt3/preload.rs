//! Reading every table and every index once, so that measured queries find them in memory.

use super::fill::run;
use super::{Dbt3Error, TABLES, Table};
use crate::workload::Dialect;
use tare_engine::Session;

/// What a preload read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Preloaded {
    /// Tables and indexes read from end to end.
    pub indexes: usize,
    /// Index entries that were read.
    pub entries: u64,
}

/// Counts the entries of every table and every index, each by reading it from end to end, on this session.
///
/// # Errors
/// A statement that fails, or an index whose entries are not as many as its table's rows.
pub fn preload(session: &mut dyn Session, dialect: Dialect) -> Result<Preloaded, Dbt3Error> {
    let mut done = Preloaded::default();
    for table in &TABLES {
        let mut rows = None;
        for sql in scans(table, dialect) {
            let found = count(session, &sql)?;
            let expected = *rows.get_or_insert(found);
            if found != expected {
                return Err(Dbt3Error::Rows { table: table.name, expected, found });
            }
            done.indexes += 1;
            done.entries += found;
        }
    }
    Ok(done)
}

/// The statements: one for the table itself, then one for each index.
pub fn scans(table: &Table, dialect: Dialect) -> Vec<String> {
    let name = table.name;
    let (own, by) = match dialect {
        Dialect::MySql => ("FORCE INDEX (PRIMARY)", "FORCE INDEX"),
        Dialect::Sqlite => ("NOT INDEXED", "INDEXED BY"),
    };
    // A count of a column is a count of its rows, for none is NULL, but SQLite takes COUNT(*) from its smallest index.
    let mut scans = vec![format!("SELECT COUNT({}) FROM {name} {own}", table.unindexed)];
    for columns in table.indexes {
        let first = columns.split(',').next().unwrap_or(columns);
        let index = match dialect {
            Dialect::MySql => format!("({})", Table::index_name(columns)),
            Dialect::Sqlite => Table::index_name(columns),
        };
        scans.push(format!("SELECT COUNT({first}) FROM {name} {by} {index}"));
    }
    scans
}

fn count(session: &mut dyn Session, sql: &str) -> Result<u64, Dbt3Error> {
    let rows = session.query(sql).map_err(|source| Dbt3Error::statement(sql, source))?;
    let number = rows.first().and_then(|row| row.first()?.as_deref()?.parse().ok());
    number.ok_or_else(|| {
        let message = "expected one number".to_owned();
        let source = tare_engine::SqlError { kind: tare_engine::SqlErrorKind::Other, code: 0, message };
        Dbt3Error::statement(sql, source)
    })
}

/// What a session of dbt3 sends first. SQLite's LIKE ignores case unless it is told not to.
///
/// # Errors
/// The server's refusal.
pub fn set_up(session: &mut dyn Session, dialect: Dialect) -> Result<(), Dbt3Error> {
    match dialect {
        Dialect::MySql => Ok(()),
        Dialect::Sqlite => run(session, "PRAGMA case_sensitive_like = ON").map(drop),
    }
}

/// How full the buffer pool is: (pages with data, pages of all tables and indexes of this database).
///
/// # Errors
/// The server's refusal.
pub fn buffer_pool_pages(session: &mut dyn Session) -> Result<(u64, u64), Dbt3Error> {
    let held = count(
        session,
        "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS \
         WHERE VARIABLE_NAME = 'Innodb_buffer_pool_pages_data'",
    )?;
    let all = count(
        session,
        "SELECT CAST(SUM(stat_value) AS UNSIGNED) FROM mysql.innodb_index_stats \
         WHERE database_name = DATABASE() AND stat_name = 'n_leaf_pages'",
    )?;
    Ok((held, all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_and_each_index_are_read() {
        assert_eq!(
            scans(&TABLES[0], Dialect::MySql),
            [
                "SELECT COUNT(l_comment) FROM lineitem FORCE INDEX (PRIMARY)",
                "SELECT COUNT(l_partkey) FROM lineitem FORCE INDEX (i_l_partkey_l_suppkey)",
                "SELECT COUNT(l_suppkey) FROM lineitem FORCE INDEX (i_l_suppkey)",
            ]
        );
        assert_eq!(
            scans(&TABLES[6], Dialect::Sqlite),
            [
                "SELECT COUNT(n_comment) FROM nation NOT INDEXED",
                "SELECT COUNT(n_regionkey) FROM nation INDEXED BY i_n_regionkey"
            ]
        );
    }
}
