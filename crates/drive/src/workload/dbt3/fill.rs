//! Making the tables: definition, rows, indexes, statistics.

use super::job::{Fill, Progress, run};
use super::rows::Piece;
use super::{Dbt3Error, TABLES, Table, pipe, rows};
use crate::workload::fill::{in_parallel, rows_of_placeholders};
use std::error::Error;
use std::ops::ControlFlow;
use tare_engine::{BulkLoad, Dialect, Param, Session, StatementId};

/// Rows of one INSERT where rows come that way; SQLite takes 32,766 parameters in one statement.
const ROWS_PER_INSERT: usize = 200;

/// Creates and fills all tables, builds their indexes and has their statistics made. `connect` is called once in every
/// thread that fills; `progress` hears the number of rows that were added and can stop the work.
///
/// # Errors
/// The first failure. What had been made until then stays: meant for a database that is thrown away on failure.
pub fn prepare<E: Into<Box<dyn Error + Send + Sync>>>(
    fill: &Fill<'_>,
    connect: &(dyn Fn() -> Result<Box<dyn Session>, E> + Sync),
    progress: &(dyn Fn(u64) -> ControlFlow<()> + Sync),
) -> Result<(), Dbt3Error> {
    let sessions = if fill.dialect.fills_in_parallel() { fill.parallel.clamp(1, TABLES.len()) } else { 1 };
    in_parallel(
        sessions,
        TABLES.len(),
        progress,
        || Dbt3Error::Interrupted,
        |shared| {
            let mut session = connect().map_err(|error| Dbt3Error::Connect(error.into()))?;
            shared.fills(session.as_mut()).map_err(|source| Dbt3Error::statement("time-out", source))?;
            for sql in fill.dialect.load_session(fill.directory) {
                run(session.as_mut(), &sql)?;
            }
            while let Some(table) = shared.take() {
                make_table(session.as_mut(), fill, &TABLES[table], &|rows| shared.added(rows))?;
            }
            Ok(())
        },
    )
}

fn make_table(
    session: &mut dyn Session,
    fill: &Fill<'_>,
    table: &'static Table,
    progress: Progress<'_>,
) -> Result<(), Dbt3Error> {
    run(session, &table.create(fill.dialect))?;
    match fill.dialect.bulk_load() {
        BulkLoad::Pipe => pipe::load(session, fill, table, progress)?,
        BulkLoad::Stream => stream(session, fill, table, progress)?,
        BulkLoad::Inserts => insert(session, fill, table, progress)?,
    }
    // Sorted and written in one pass once the rows are there, in place of one search tree insertion a row.
    for sql in table.create_indexes(fill.dialect, fill.indexes) {
        run(session, &sql)?;
    }
    run(session, &fill.dialect.analyze(table.name)).map(drop)
}

/// All rows behind one statement, over the connection.
fn stream(
    session: &mut dyn Session,
    fill: &Fill<'_>,
    table: &'static Table,
    progress: Progress<'_>,
) -> Result<(), Dbt3Error> {
    let sql = fill.dialect.load_through_session(table.name);
    let (mut expected, mut stopped) = (0, None);
    let loaded = session.load(&sql, &mut |server| {
        let sent = rows::generate(table, fill.scale, fill.parallel, |piece: Piece| {
            progress(piece.rows).map_err(Unsent::Stopped)?;
            server.write_all(piece.text.as_bytes()).map_err(Unsent::Connection)
        });
        match sent {
            Ok(rows) => {
                expected = rows;
                Ok(())
            }
            Err(Unsent::Connection(error)) => Err(error),
            Err(Unsent::Stopped(error)) => {
                stopped = Some(error);
                Err(std::io::ErrorKind::Interrupted.into())
            }
        }
    });
    match (stopped, loaded) {
        (Some(error), _) => Err(error),
        (None, Err(source)) => Err(Dbt3Error::statement(&sql, source)),
        (None, Ok(found)) if found != expected => Err(Dbt3Error::Rows { table: table.name, expected, found }),
        (None, Ok(_)) => Ok(()),
    }
}

/// Why not all rows were sent.
enum Unsent {
    Stopped(Dbt3Error),
    Connection(std::io::Error),
}

fn insert(
    session: &mut dyn Session,
    fill: &Fill<'_>,
    table: &'static Table,
    progress: Progress<'_>,
) -> Result<(), Dbt3Error> {
    run(session, fill.dialect.begin(true))?;
    let mut full = None;
    rows::generate(table, fill.scale, fill.parallel, |piece: Piece| {
        let lines: Vec<&str> = piece.text.lines().collect();
        for lines in lines.chunks(ROWS_PER_INSERT) {
            let statement = match full {
                Some(statement) if lines.len() == ROWS_PER_INSERT => statement,
                _ => prepare_insert(session, fill.dialect, table, lines.len())?,
            };
            if lines.len() == ROWS_PER_INSERT {
                full = Some(statement);
            }
            // Text for every column: its type makes of it what it is.
            let values: Vec<Param<'_>> = lines.iter().flat_map(|line| line.split('|').map(Param::Text)).collect();
            let found = session.execute(statement, &values).map_err(|e| Dbt3Error::statement("INSERT", e))?;
            let expected = lines.len() as u64;
            if found != expected {
                return Err(Dbt3Error::Rows { table: table.name, expected, found });
            }
        }
        progress(piece.rows)
    })?;
    run(session, "COMMIT").map(drop)
}

fn prepare_insert(
    session: &mut dyn Session,
    dialect: &dyn Dialect,
    table: &Table,
    rows: usize,
) -> Result<StatementId, Dbt3Error> {
    let sql = format!("INSERT INTO {} VALUES {}", table.name, rows_of_placeholders(dialect, table.width, rows));
    session.prepare(&sql).map_err(|source| Dbt3Error::statement(&sql, source))
}
