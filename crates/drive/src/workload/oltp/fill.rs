//! Creation and filling of the tables, checking and dropping them.

use super::statements::{Fill, Progress, SbtestRow};
use super::{OltpError, SessionError, Tables, Workload};
use crate::workload::error::{reads, run, shown};
use crate::workload::fill::{in_parallel, rows_of_placeholders};
use std::error::Error;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use tare_engine::{Collation, Dialect, Param, Session, SqlErrorKind, StatementId};
use tare_load::{Purpose, Random};

/// Rows per INSERT. It is prepared: for text, MariaDB spends as long on parsing a row as on storing it. Measured with
/// MariaDB 10.11, server CPU for 100,000 rows: 0.65 s as text, 0.46 s with 10 rows, 0.32 s with 100, 0.36 s with 1000.
const ROWS_PER_INSERT: u64 = 100;
/// INSERTs per transaction, unless the whole table is one transaction: about a megabyte.
const INSERTS_PER_TRANSACTION: u64 = 50;

/// Creates and fills all tables and then builds their indexes on `k`. `connect` is called once in every filling
/// thread; `progress` receives the number of rows that an INSERT added, and can stop the work.
///
/// # Errors
/// The first failure. Tables that this call began and did not complete are dropped; a table that existed before is an
/// error and stays unchanged.
pub fn prepare<E: Into<Box<dyn Error + Send + Sync>>>(
    fill: &Fill,
    connect: &(dyn Fn() -> Result<Box<dyn Session>, E> + Sync),
    progress: &(dyn Fn(u64) -> ControlFlow<()> + Sync),
) -> Result<(), OltpError> {
    fill.tables.check()?;
    let sessions = if fill.dialect.fills_in_parallel() { fill.sessions.clamp(1, fill.tables.tables) } else { 1 };
    in_parallel(
        sessions,
        fill.tables.tables,
        progress,
        || OltpError::Interrupted,
        |shared| {
            let mut session = connect().map_err(SessionError::connect)?;
            shared.fills(session.as_mut(), Some(fill.tables.all_rows()))?;
            let streams = fill.dialect.streams_rows(session.as_mut());
            let streams = streams.map_err(|source| SessionError::statement("whether rows may be streamed", source))?;
            let rows_by = if streams { stream_rows } else { insert_rows };
            while let Some(table) = shared.take() {
                // Tables are numbered from 1.
                make_table(session.as_mut(), fill, table + 1, rows_by, &|rows| shared.added(rows))?;
            }
            Ok(())
        },
    )
}

type RowsBy = fn(&mut dyn Session, &Fill, usize, Progress<'_>) -> Result<(), OltpError>;

fn make_table(
    session: &mut dyn Session,
    fill: &Fill,
    table: usize,
    rows_by: RowsBy,
    progress: Progress<'_>,
) -> Result<(), OltpError> {
    let one_transaction = fill.dialect.makes_table_in_one_transaction();
    if one_transaction {
        run(session, fill.dialect.begin(true))?;
    }
    let create = create_table(fill.dialect, table);
    let created = session.run(&create).map_err(|source| SessionError::Create { sql: shown(&create), source });
    let is_new = created.is_ok();
    let made = created.map_err(OltpError::from).and_then(|_| {
        rows_by(session, fill, table, progress)?;
        run(session, &format!("CREATE INDEX k_{table} ON sbtest{table}(k)"))?;
        if one_transaction {
            run(session, "COMMIT")?;
        }
        Ok(())
    });
    if made.is_err() {
        // The caller needs the original failure, not one of the clean-up after it.
        if one_transaction {
            let _ = run(session, "ROLLBACK");
        } else if is_new {
            let _ = drop_table(session, table);
        }
    }
    made
}

/// Creates table number `table` as sysbench does, or the nearest equivalent.
fn create_table(dialect: &dyn Dialect, table: usize) -> String {
    let id = dialect.identity();
    let key = if id.is_key { "" } else { ", PRIMARY KEY (id)" };
    format!(
        "CREATE TABLE sbtest{table} (id {}, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
         pad CHAR(60) DEFAULT '' NOT NULL{key}){}",
        id.definition,
        dialect.table_suffix(Collation::Default, 1)
    )
}

fn insert_rows(session: &mut dyn Session, fill: &Fill, table: usize, progress: Progress<'_>) -> Result<(), OltpError> {
    let own_transactions = !fill.dialect.makes_table_in_one_transaction();
    let mut random = Random::new(fill.seed, Purpose::Rows, table);
    let total = fill.tables.rows;
    let mut insert = Insert::prepare(session, fill.dialect, table, total.min(ROWS_PER_INSERT))?;
    let mut done = 0;
    while done < total {
        if own_transactions {
            run(session, fill.dialect.begin(true))?;
        }
        let until = if own_transactions { total.min(done + INSERTS_PER_TRANSACTION * ROWS_PER_INSERT) } else { total };
        while done < until {
            if total - done < insert.rows.len() as u64 {
                insert = Insert::prepare(session, fill.dialect, table, total - done)?;
            }
            insert.draw(done + 1, fill, &mut random);
            insert.execute(session)?;
            done += insert.rows.len() as u64;
            progress(insert.rows.len() as u64)?;
        }
        if own_transactions {
            run(session, "COMMIT")?;
        }
    }
    Ok(())
}

/// An INSERT of a fixed number of rows, and the rows, whose memory is reused for the next INSERT.
struct Insert {
    sql: String,
    statement: StatementId,
    rows: Vec<SbtestRow>,
}

impl Insert {
    fn prepare(session: &mut dyn Session, dialect: &dyn Dialect, table: usize, rows: u64) -> Result<Self, OltpError> {
        let values = rows_of_placeholders(dialect, 4, rows as usize);
        let sql = format!("INSERT INTO sbtest{table} (id, k, c, pad) VALUES {values}");
        let statement = session.prepare(&sql).map_err(|source| SessionError::statement(&sql, source))?;
        Ok(Self { sql, statement, rows: vec![SbtestRow::default(); rows as usize] })
    }

    fn draw(&mut self, first_id: u64, fill: &Fill, random: &mut Random) {
        let k = fill.distribution.over(1, fill.tables.rows);
        self.rows.iter_mut().zip(first_id..).for_each(|(row, id)| row.draw(id, &k, random));
    }

    fn execute(&self, session: &mut dyn Session) -> Result<(), OltpError> {
        let params: Vec<Param<'_>> = self
            .rows
            .iter()
            .flat_map(|row| [Param::Int(row.id), Param::Int(row.k), Param::Text(&row.c), Param::Text(&row.pad)])
            .collect();
        session.execute(self.statement, &params).map_err(|source| SessionError::statement(&self.sql, source))?;
        Ok(())
    }
}

/// Rows per statement, and therefore per transaction: some 40 MB.
const ROWS_PER_STATEMENT: u64 = 200_000;
/// Rows between two checks whether to stop.
const ROWS_PER_LOOK: u64 = 1000;

fn stream_rows(session: &mut dyn Session, fill: &Fill, table: usize, progress: Progress<'_>) -> Result<(), OltpError> {
    let sql = fill.dialect.load_through_session(&format!("sbtest{table}"));
    let mut random = Random::new(fill.seed, Purpose::Rows, table);
    let k = fill.distribution.over(1, fill.tables.rows);
    let (mut row, mut done) = (SbtestRow::default(), 0);
    while done < fill.tables.rows {
        let expected = ROWS_PER_STATEMENT.min(fill.tables.rows - done);
        let (mut sent, mut stopped) = (0, None);
        let loaded = session.load(&sql, &mut |server| {
            while sent < expected {
                let some = ROWS_PER_LOOK.min(expected - sent);
                for id in done + sent + 1..=done + sent + some {
                    row.draw(id, &k, &mut random);
                    writeln!(server, "{}|{}|{}|{}", row.id, row.k, row.c, row.pad)?;
                }
                sent += some;
                progress(some).map_err(|error| {
                    stopped = Some(error);
                    ErrorKind::Interrupted
                })?;
            }
            Ok(())
        });
        match (stopped, loaded) {
            (Some(error), _) => return Err(error),
            (None, Err(source)) => return Err(SessionError::statement(&sql, source).into()),
            (None, Ok(found)) if found != expected => return Err(OltpError::Loaded { table, expected, found }),
            (None, Ok(_)) => done += expected,
        }
    }
    Ok(())
}

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

fn drop_table(session: &mut dyn Session, table: usize) -> Result<(), OltpError> {
    run(session, &format!("DROP TABLE IF EXISTS sbtest{table}"))?;
    Ok(())
}

#[cfg(test)]
#[path = "fill_tests.rs"]
mod tests;
