//! Checking and dropping the tables.

use super::{OltpError, SessionError, Tables, Workload};
use crate::workload::error::{reads, run};
use tare_engine::{Collation, Dialect, Session, SqlErrorKind};

/// Checks that every table exists and has exactly the ids 1 to `rows`; after `insert` a table may have more rows,
/// after `delete` fewer. The tables of `bulk_insert` cannot be checked before its clients connect.
pub fn check(session: &mut dyn Session, tables: &Tables, workload: Workload) -> Result<(), OltpError> {
    tables.check()?;
    if workload == Workload::BulkInsert {
        return Ok(());
    }
    for table in 1..=tables.tables {
        let sql = format!("SELECT COUNT(*), MIN(id), MAX(id) FROM sbtest{table}");
        let rows = session.query(&sql).map_err(|source| match source.kind {
            SqlErrorKind::Other => OltpError::TableMissing { table, expected: tables.rows, source },
            _ => SessionError::statement(&sql, source).into(),
        })?;
        let numbers: Vec<Option<u64>> = rows.iter().flatten().map(|value| value.as_ref()?.parse().ok()).collect();
        let found = match numbers[..] {
            [Some(count), Some(min), Some(max)] => Some((count, min, max)),
            _ => None,
        };
        judge(workload, table, tables.rows, found)?;
    }
    Ok(())
}

/// Whether the workload can run on a table with these numbers of rows, lowest and highest id.
fn judge(workload: Workload, table: usize, rows: u64, found: Option<(u64, u64, u64)>) -> Result<(), OltpError> {
    let words = match found {
        Some((count, min, max)) => format!("{count} rows with ids {min} to {max}"),
        None => "no rows".to_owned(),
    };
    let changed = |expected: String| Err(OltpError::TableChanged { table, found: words.clone(), expected });
    match (workload, found) {
        (Workload::Insert, Some((count, _, _))) if count >= rows => Ok(()),
        (Workload::Insert, _) => changed(format!("{rows} rows or more")),
        (Workload::Delete, Some((_, min, max))) if min >= 1 && max <= rows => Ok(()),
        (Workload::Delete, _) => changed(format!("rows with ids between 1 and {rows}")),
        (_, found) if found == Some((rows, 1, rows)) => Ok(()),
        _ => Err(OltpError::TableSize { table, found: words, expected: rows }),
    }
}

/// Creates the missing tables of `bulk_insert`, one per client.
pub fn prepare_bulk(session: &mut dyn Session, clients: usize, dialect: &dyn Dialect) -> Result<(), OltpError> {
    for table in 1..=clients {
        let sql = format!(
            "CREATE TABLE IF NOT EXISTS sbtest{table} (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY \
             (id)){}",
            dialect.table_suffix(Collation::Default, 1)
        );
        run(session, &sql)?;
    }
    Ok(())
}

/// Drops those of the tables that exist, and returns their number.
pub fn cleanup(session: &mut dyn Session, tables: &Tables) -> Result<usize, OltpError> {
    tables.check()?;
    let mut dropped = 0;
    for table in 1..=tables.tables {
        dropped += usize::from(reads(session, "1", &format!("sbtest{table}"))?);
        drop_table(session, table)?;
    }
    Ok(dropped)
}

pub(super) fn drop_table(session: &mut dyn Session, table: usize) -> Result<(), OltpError> {
    run(session, &format!("DROP TABLE IF EXISTS sbtest{table}"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::oltp::fake::{Fake, Sent};

    const THREE: Tables = Tables { tables: 3, rows: 50 };

    fn answered(answer: [Option<&str>; 3]) -> Result<(), OltpError> {
        let fake = Fake::default().answering(answer.map(|value| value.map(str::to_owned)).to_vec());
        check(fake.session().as_mut(), &THREE, Workload::PointSelect)
    }

    #[test]
    fn tables_of_the_right_size_pass() {
        assert!(answered([Some("50"), Some("1"), Some("50")]).is_ok());
    }

    #[test]
    fn a_table_of_another_size_is_named_with_what_it_has() {
        let message = answered([Some("40"), Some("1"), Some("40")]).unwrap_err().to_string();
        assert!(message.starts_with("table sbtest1 has 40 rows with ids 1 to 40: expected 50 rows with ids 1 to 50"));
        assert!(answered([Some("50"), Some("1"), Some("99")]).is_err(), "ids with gaps");
        let message = answered([Some("0"), None, None]).unwrap_err().to_string();
        assert!(message.starts_with("table sbtest1 has no rows"), "{message}");
    }

    #[test]
    fn tables_that_a_workload_changes_may_have_been_changed_by_it() {
        let passes = |workload, found| judge(workload, 1, 50, found).is_ok();
        assert!(passes(Workload::Insert, Some((70, 1, 90))) && !passes(Workload::ReadOnly, Some((70, 1, 90))));
        assert!(passes(Workload::Delete, Some((3, 7, 50))) && !passes(Workload::Delete, Some((60, 1, 60))));
        assert!(!passes(Workload::Insert, Some((49, 1, 50))) && !passes(Workload::Delete, None));
        let message = judge(Workload::Delete, 2, 50, None).unwrap_err().to_string();
        assert!(message.starts_with("table sbtest2 has no rows: expected rows with ids between 1 and 50"), "{message}");
    }

    #[test]
    fn a_missing_table_is_named_with_what_to_do() {
        let fake = Fake::default()
            .answering(["50", "1", "50"].map(|value| Some(value.to_owned())).to_vec())
            .failing("sbtest2", SqlErrorKind::Other);
        let message = check(fake.session().as_mut(), &THREE, Workload::PointSelect).unwrap_err().to_string();
        assert_eq!(
            message,
            "table sbtest2 cannot be read: refused (code 7); expected 50 rows: prepare the tables first"
        );
    }

    #[test]
    fn cleanup_drops_every_table() {
        let fake = Fake::default();
        assert_eq!(cleanup(fake.session().as_mut(), &THREE).unwrap(), 3);
        let drops = (1..=3).map(|table| Sent::Run(format!("DROP TABLE IF EXISTS sbtest{table}")));
        let sent = fake.sent().into_iter().filter(|sent| matches!(sent, Sent::Run(_)));
        assert_eq!(sent.collect::<Vec<_>>(), drops.collect::<Vec<_>>());
    }
}
