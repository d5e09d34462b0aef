//! Reads every table and every index once, so that measured queries find them in memory.

use super::{Dbt3Error, Indexes, SessionError, TABLES};
use crate::workload::error::run;
use std::fmt;
use tare_engine::{Counted, Dialect, SET_UP, Session, SqlError, SqlErrorKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Preloaded {
    pub indexes: usize,
    pub entries: u64,
    /// Pages of the indexes that were read page by page.
    pub pages: u64,
}

impl fmt::Display for Preloaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { indexes, entries, pages } = self;
        match pages {
            0 => write!(f, "{entries} entries of {indexes} tables and indexes"),
            _ => write!(f, "{pages} pages of {indexes} tables and indexes"),
        }
    }
}

/// Reads every table and every index from end to end, on this session.
pub fn preload(session: &mut dyn Session, dialect: &dyn Dialect, indexes: Indexes) -> Result<Preloaded, Dbt3Error> {
    let mut done = Preloaded::default();
    for table in &TABLES {
        let mut rows = None;
        for scan in table.scans(dialect, indexes) {
            let found = count(session, &scan.sql)?;
            done.indexes += 1;
            if scan.counts == Counted::Pages {
                done.pages += found;
                continue;
            }
            let expected = *rows.get_or_insert(found);
            if found != expected {
                return Err(Dbt3Error::Rows { table: table.name, expected, found });
            }
            done.entries += found;
        }
    }
    Ok(done)
}

fn count(session: &mut dyn Session, sql: &str) -> Result<u64, Dbt3Error> {
    let rows = session.query(sql).map_err(|source| SessionError::statement(sql, source))?;
    let number = rows.first().and_then(|row| row.first()?.as_deref()?.parse().ok());
    number.ok_or_else(|| {
        let source = SqlError::own(SqlErrorKind::Other, "expected one number");
        SessionError::statement(sql, source).into()
    })
}

/// Sets up a session of dbt3. Its server may be silent for as long as a query or a scan takes: the caller has a limit
/// for each, and ends the session.
pub fn set_up(session: &mut dyn Session, dialect: &dyn Dialect) -> Result<(), Dbt3Error> {
    let limit = |source| SessionError::statement("time-out", source);
    session.set_timeout(Some(SET_UP)).map_err(limit)?;
    dialect.query_session().iter().try_for_each(|sql| run(session, sql).map(drop))?;
    Ok(session.set_timeout(None).map_err(limit)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_engine::{Engine, Mariadb, Sqlite};

    #[test]
    fn the_preload_reads_every_table_and_each_index() {
        let scans = |table: usize, dialect| {
            TABLES[table].scans(dialect, Indexes::Keys).into_iter().map(|s| s.sql).collect::<Vec<_>>()
        };
        assert_eq!(
            scans(0, Mariadb.dialect()),
            [
                "SELECT COUNT(l_comment) FROM lineitem FORCE INDEX (PRIMARY)",
                "SELECT COUNT(l_partkey) FROM lineitem FORCE INDEX (i_l_partkey_l_suppkey)",
                "SELECT COUNT(l_suppkey) FROM lineitem FORCE INDEX (i_l_suppkey)",
            ]
        );
        assert_eq!(
            scans(6, Sqlite.dialect()),
            [
                "SELECT COUNT(n_comment) FROM nation NOT INDEXED",
                "SELECT COUNT(n_regionkey) FROM nation INDEXED BY i_n_regionkey"
            ]
        );
    }
}
