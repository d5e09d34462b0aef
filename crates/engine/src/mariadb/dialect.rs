//! The SQL of MariaDB and MySQL with InnoDB tables.

use crate::contract::dialect::{Backlog, BulkLoad, Collation, Dialect, Done, Identity, Index, PoolPages, number};
use crate::{Code, Session, SqlError, SysbenchDriver};
use std::path::Path;

/// An idle server may keep a history list shorter than this for good. It removes purged transactions from the list
/// only with every `innodb_purge_rseg_truncate_frequency`th (128th) batch of `innodb_purge_batch_size`, and its purge
/// coordinator then wakes by itself only if the list has changed or has at least 5,000 entries (MySQL:
/// `srv_purge_coordinator_suspend`, MariaDB: `purge_coordinator_state::do_purge`, both in srv0srv.cc).
const HISTORY_PURGED_ON: u64 = 5000;

/// The dialect of MariaDB and MySQL, with fields for what differs. `global_status` is the view of status counters.
#[derive(Debug)]
pub(crate) struct InnoDb {
    pub global_status: &'static str,
    /// The prefix of a query that returns its plan as a table.
    pub explain: &'static str,
    /// Whether LOAD DATA LOCAL costs less than prepared INSERTs of a hundred rows.
    pub streams_rows: bool,
}

pub(super) static MARIADB: InnoDb =
    InnoDb { global_status: "information_schema.GLOBAL_STATUS", explain: "EXPLAIN", streams_rows: false };

impl Dialect for InnoDb {
    /// The same for MariaDB and MySQL.
    fn sysbench_driver(&self) -> Option<SysbenchDriver> {
        Some(SysbenchDriver::Mysql)
    }

    fn identity(&self) -> Identity {
        Identity { definition: "INTEGER NOT NULL AUTO_INCREMENT", is_key: false }
    }

    fn next_number(&self) -> Option<&'static str> {
        Some("0")
    }

    /// `ER_DUP_ENTRY`.
    fn is_duplicate(&self, error: &SqlError) -> bool {
        error.code == Some(Code::Number(1062))
    }

    fn table_suffix(&self, collation: Collation, _key_columns: usize) -> &'static str {
        match collation {
            Collation::Default => " ENGINE = InnoDB",
            Collation::Bytes => " ENGINE = InnoDB DEFAULT CHARACTER SET latin1 COLLATE latin1_bin",
        }
    }

    fn year(&self, column: &str) -> String {
        format!("YEAR({column})")
    }

    /// TIMESTAMP ends in 2038, and the first TIMESTAMP column of a table may be updated automatically.
    fn moment(&self) -> &'static str {
        "DATETIME"
    }

    fn create_indexes(&self, table: &str, indexes: &[Index<'_>]) -> Vec<String> {
        if indexes.is_empty() {
            return Vec::new();
        }
        let add = |index: &Index<'_>| format!("ADD INDEX {} ({})", index.name, index.columns);
        vec![format!("ALTER TABLE {table} {}", indexes.iter().map(add).collect::<Vec<_>>().join(", "))]
    }

    fn analyze(&self, table: &str) -> String {
        format!("ANALYZE TABLE {table}")
    }

    fn reads_through(&self, index: Option<&str>) -> String {
        format!("FORCE INDEX ({})", index.unwrap_or("PRIMARY"))
    }

    /// With a pipe no row is written twice or sent through the client protocol.
    fn bulk_load(&self) -> BulkLoad {
        BulkLoad::Pipe
    }

    /// A value that does not fit is an error. Sort files are put next to the data: the server's own directory for
    /// them may be small and in memory. `unique_checks = 0` is not set: it makes InnoDB sort the rows of an empty
    /// table, but the rows arrive sorted, and it took 1.6 times the server's CPU (MariaDB 10.11, scale 0.1).
    fn load_session(&self, scratch: &Path) -> Vec<String> {
        vec![format!("SET SESSION sql_mode = 'STRICT_ALL_TABLES', innodb_tmpdir = {}", quoted(scratch))]
    }

    fn load_from(&self, table: &str, file: &Path) -> String {
        let file = quoted(file);
        format!(
            "LOAD DATA INFILE {file} INTO TABLE {table} CHARACTER SET latin1 FIELDS TERMINATED BY '|' ESCAPED BY ''"
        )
    }

    /// Used if the server's `local_infile` allows it. Server CPU for 400,000 rows of OLTP, INSERTs and LOAD DATA
    /// LOCAL: MySQL 9.7 2.1 and 1.75 s, MariaDB 10.11 1.5 and 1.7 s.
    fn streams_rows(&self, session: &mut dyn Session) -> Result<bool, SqlError> {
        Ok(self.streams_rows && number(session, "SELECT @@GLOBAL.local_infile")? == Some(1))
    }

    fn load_through_session(&self, table: &str) -> String {
        format!(
            "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table} CHARACTER SET utf8mb4 FIELDS TERMINATED BY '|' ESCAPED BY ''"
        )
    }

    /// Reads through the first column of each index: FORCE INDEX prevents the use of another index.
    fn read_all(&self, session: &mut dyn Session) -> Result<usize, SqlError> {
        let indexes = "SELECT t.TABLE_NAME, s.INDEX_NAME, s.COLUMN_NAME FROM information_schema.TABLES t \
                       LEFT JOIN information_schema.STATISTICS s ON s.TABLE_SCHEMA = t.TABLE_SCHEMA \
                       AND s.TABLE_NAME = t.TABLE_NAME AND s.SEQ_IN_INDEX = 1 AND s.INDEX_TYPE = 'BTREE' \
                       WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_TYPE = 'BASE TABLE'";
        let found = session.query(indexes)?;
        for row in &found {
            let name = |at: usize| row.get(at).and_then(Option::as_deref).map(|name| name.replace('`', "``"));
            let Some(table) = name(0) else { continue };
            session.run(&match name(1).zip(name(2)) {
                Some((index, column)) => format!("SELECT COUNT(`{column}`) FROM `{table}` FORCE INDEX (`{index}`)"),
                None => format!("SELECT COUNT(*) FROM `{table}`"),
            })?;
        }
        Ok(found.len())
    }

    fn plan(&self, session: &mut dyn Session, sql: &str) -> Result<Option<String>, SqlError> {
        let rows = session.query(&format!("{} {sql}", self.explain))?;
        Ok(Some(rows.iter().map(|row| plan_line(row)).collect::<Vec<_>>().join("\n")))
    }

    fn pages_in_memory(&self, session: &mut dyn Session) -> Result<Option<PoolPages>, SqlError> {
        let status = self.global_status;
        let held = format!("SELECT VARIABLE_VALUE FROM {status} WHERE VARIABLE_NAME = 'Innodb_buffer_pool_pages_data'");
        let all = "SELECT CAST(SUM(stat_value) AS UNSIGNED) FROM mysql.innodb_index_stats \
                   WHERE database_name = DATABASE() AND stat_name = 'n_leaf_pages'";
        let reloads = number(session, "SELECT @@innodb_buffer_pool_load_at_startup")? == Some(1);
        let pages = number(session, &held)?.zip(number(session, all)?);
        Ok(pages.map(|(held, data)| PoolPages { held, data, reloads }))
    }

    /// Row versions not yet purged, and dirty pages. An idle server keeps some of both, up to its own limits.
    fn backlog(&self, session: &mut dyn Session) -> Result<Vec<Backlog>, SqlError> {
        let metric = "SELECT `COUNT` FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'";
        let status = self.global_status;
        let dirty =
            format!("SELECT VARIABLE_VALUE FROM {status} WHERE VARIABLE_NAME = 'Innodb_buffer_pool_pages_dirty'");
        let left = |what, amount: Option<u64>, done| amount.map(|amount| Backlog { what, amount, done });
        let history = left("history_list_length", number(session, metric)?, Done::SteadyBelow(HISTORY_PURGED_ON));
        let dirty = left("dirty_pages", number(session, &dirty)?, Done::Steady);
        Ok(history.into_iter().chain(dirty).collect())
    }
}

/// A row of EXPLAIN without its estimates: in MariaDB `rows` follows nine columns; in MySQL `rows` and `filtered`
/// follow ten, one of them `partitions`. The possible indexes are left out too, since they do not describe the plan.
fn plan_line(row: &[Option<String>]) -> String {
    let kept: &[usize] = if row.len() > 10 { &[0, 1, 2, 4, 6, 7, 8, 11] } else { &[0, 1, 2, 3, 5, 6, 7, 9] };
    let cells = kept.iter().map(|at| row.get(*at).and_then(Option::as_deref).unwrap_or("-"));
    cells.collect::<Vec<_>>().join(" | ").trim_end_matches([' ', '|', '-']).to_owned()
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_a_quote_stays_one_string() {
        let sql = MARIADB.load_from("t", Path::new("/it's\\here"));
        assert!(sql.starts_with("LOAD DATA INFILE '/it\\'s\\\\here' INTO TABLE t "), "{sql}");
    }

    #[test]
    fn a_plan_has_no_estimates_in_either_form() {
        let row = |cells: &[&str]| cells.iter().map(|c| (*c != "NULL").then(|| (*c).to_owned())).collect::<Vec<_>>();
        let mariadb = row(&["1", "SIMPLE", "orders", "ref", "a,b", "a", "4", "t.x", "17", "Using where"]);
        let mysql =
            row(&["1", "SIMPLE", "orders", "NULL", "ref", "a,b", "a", "4", "t.x", "23", "11.11", "Using where"]);
        assert_eq!(plan_line(&mariadb), "1 | SIMPLE | orders | ref | a | 4 | t.x | Using where");
        assert_eq!(plan_line(&mysql), plan_line(&mariadb));
    }

    #[test]
    fn all_indexes_are_made_in_one_pass_and_none_in_no_statement() {
        let indexes = [Index { name: "a", columns: "x, y" }, Index { name: "b", columns: "z" }];
        assert_eq!(MARIADB.create_indexes("t", &indexes), ["ALTER TABLE t ADD INDEX a (x, y), ADD INDEX b (z)"]);
        assert!(MARIADB.create_indexes("t", &[]).is_empty());
    }
}
