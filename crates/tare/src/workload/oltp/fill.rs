//! Making the tables.

use super::tables::drop_table;
use super::{Dialect, OltpError, Tables};
use crate::engine::Session;
use std::error::Error;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use tare_load::{C_GROUPS, Distribution, Draw, PAD_GROUPS, Purpose, Random, push_groups};

/// More bytes than the longest row takes in an INSERT: two numbers, two texts and what stands between them.
const LONGEST_ROW: usize = 256;

/// What the tables are to hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fill {
    /// The tables.
    pub tables: Tables,
    /// How `k` is drawn. sysbench uses the distribution of the run; the default, special, clusters it.
    pub distribution: Distribution,
    /// The rows depend on it and on nothing else: neither on `sessions` nor on the engine.
    pub seed: u64,
    /// Sessions that fill tables at the same time, each a table of its own; SQLite uses one.
    pub sessions: usize,
    /// The engine's SQL.
    pub dialect: Dialect,
}

/// Creates and fills all tables and then builds their indexes on `k`. `connect` is called once in every thread that
/// fills; `progress` hears the number of rows that a batch added, and can stop the work.
///
/// # Errors
/// The first failure. Tables that this call began and did not complete are dropped again; those that existed before
/// are an error and stay as they are.
pub fn prepare<E: Into<Box<dyn Error + Send + Sync>>>(
    fill: &Fill,
    connect: &(dyn Fn() -> Result<Box<dyn Session>, E> + Sync),
    progress: &(dyn Fn(u64) -> ControlFlow<()> + Sync),
) -> Result<(), OltpError> {
    fill.tables.check()?;
    let sessions = if fill.dialect.fills_in_parallel() { fill.sessions.clamp(1, fill.tables.tables) } else { 1 };
    let next = AtomicUsize::new(1);
    let stop = AtomicBool::new(false);
    let progress = |rows| match progress(rows) {
        ControlFlow::Continue(()) if !stop.load(Ordering::Acquire) => Ok(()),
        _ => Err(OltpError::Interrupted),
    };
    let first_error = Mutex::new(None);
    let work = || {
        if let Err(error) = fill_tables(fill, &next, connect, &progress) {
            // Kept before the others are told to stop: that they were stopped is not the error to show.
            first_error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            next.store(fill.tables.tables + 1, Ordering::Release);
            stop.store(true, Ordering::Release);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..sessions {
            scope.spawn(work);
        }
        work();
    });
    first_error.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

type Progress<'a> = &'a dyn Fn(u64) -> Result<(), OltpError>;

fn fill_tables<E: Into<Box<dyn Error + Send + Sync>>>(
    fill: &Fill,
    next: &AtomicUsize,
    connect: &(dyn Fn() -> Result<Box<dyn Session>, E> + Sync),
    progress: Progress<'_>,
) -> Result<(), OltpError> {
    let mut session = connect().map_err(|error| OltpError::Connect(error.into()))?;
    let batch_bytes = batch_bytes(session.as_mut(), fill.dialect)?;
    loop {
        let table = next.fetch_add(1, Ordering::AcqRel);
        if table > fill.tables.tables {
            return Ok(());
        }
        make_table(session.as_mut(), fill, table, batch_bytes, progress)?;
    }
}

/// Bytes of an INSERT: what the dialect likes, less where the server takes no more.
fn batch_bytes(session: &mut dyn Session, dialect: Dialect) -> Result<usize, OltpError> {
    let Some(sql) = dialect.longest_statement() else { return Ok(dialect.batch_bytes()) };
    let rows = session.query(sql).map_err(|source| OltpError::statement(sql, source))?;
    let longest = rows.first().and_then(|row| row.first()?.as_ref()?.parse::<usize>().ok());
    // A statement and its header must stay below the limit.
    Ok(longest.map_or(dialect.batch_bytes(), |longest| dialect.batch_bytes().min(longest.saturating_sub(1024))))
}

fn make_table(
    session: &mut dyn Session,
    fill: &Fill,
    table: usize,
    batch_bytes: usize,
    progress: Progress<'_>,
) -> Result<(), OltpError> {
    let one_transaction = fill.dialect.makes_table_in_one_transaction();
    if one_transaction {
        run(session, fill.dialect.begin(true))?;
    }
    let created = run(session, &fill.dialect.create_table(table));
    let is_new = created.is_ok();
    let made = created
        .and_then(|()| insert_rows(session, fill, table, batch_bytes, progress))
        .and_then(|()| run(session, &format!("CREATE INDEX k_{table} ON sbtest{table}(k)")))
        .and_then(|()| if one_transaction { run(session, "COMMIT") } else { Ok(()) });
    if made.is_err() {
        // The failure itself is what the caller needs to hear, not that of tidying up after it.
        if one_transaction {
            let _ = run(session, "ROLLBACK");
        } else if is_new {
            let _ = drop_table(session, table);
        }
    }
    made
}

fn insert_rows(
    session: &mut dyn Session,
    fill: &Fill,
    table: usize,
    batch_bytes: usize,
    progress: Progress<'_>,
) -> Result<(), OltpError> {
    let head = format!("INSERT INTO sbtest{table} (id, k, c, pad) VALUES ");
    let k = fill.distribution.over(1, fill.tables.rows);
    let mut random = Random::new(fill.seed, Purpose::Rows, table);
    let mut sql = String::with_capacity(batch_bytes);
    let mut id = 0;
    while id < fill.tables.rows {
        sql.clear();
        sql.push_str(&head);
        let first = id;
        while id < fill.tables.rows && (id == first || sql.len() + LONGEST_ROW <= batch_bytes) {
            if id > first {
                sql.push(',');
            }
            id += 1;
            push_row(&mut sql, id, &k, &mut random);
        }
        run(session, &sql)?;
        progress(id - first)?;
    }
    Ok(())
}

fn push_row(sql: &mut String, id: u64, k: &Draw, random: &mut Random) {
    let k = k.draw(random);
    // Writing into a String cannot fail.
    let _ = write!(sql, "({id},{k},'");
    push_groups(sql, random, C_GROUPS);
    sql.push_str("','");
    push_groups(sql, random, PAD_GROUPS);
    sql.push_str("')");
}

fn run(session: &mut dyn Session, sql: &str) -> Result<(), OltpError> {
    session.run(sql).map(drop).map_err(|source| OltpError::statement(sql, source))
}

#[cfg(test)]
#[path = "fill_tests.rs"]
mod tests;
