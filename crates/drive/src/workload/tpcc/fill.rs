//! Creation of the tables: definitions, rows, indexes, statistics.

use super::batch::Out;
use super::rows::Piece;
use super::{SessionError, Sizes, TABLES, TpccError};
use crate::workload::error::{reads, run, shown};
use crate::workload::fill::in_parallel;
use std::error::Error;
use std::ops::ControlFlow;
use tare_engine::{Dialect, Session};

#[derive(Debug, Clone, Copy)]
pub struct Fill {
    pub sizes: Sizes,
    /// The only input of the random rows: they depend neither on `sessions` nor on the engine.
    pub seed: u64,
    /// Sessions that fill at the same time; a database with a single writer uses one.
    pub sessions: usize,
    pub dialect: &'static dyn Dialect,
}

/// Creates and fills all tables, builds their indexes and their statistics. `connect` is called once in every filling
/// thread; `progress` receives the number of added rows and can stop the work.
///
/// # Errors
/// The first failure; an existing table is one. Tables that this call created are dropped.
pub fn prepare<E: Into<Box<dyn Error + Send + Sync>>>(
    fill: &Fill,
    connect: &(dyn Fn() -> Result<Box<dyn Session>, E> + Sync),
    progress: &(dyn Fn(u64) -> ControlFlow<()> + Sync),
) -> Result<(), TpccError> {
    let mut session = connect().map_err(SessionError::connect)?;
    let mut made = 0;
    let result = TABLES
        .iter()
        .try_for_each(|table| {
            let sql = table.create(fill.dialect);
            session.run(&sql).map_err(|source| SessionError::Create { sql: shown(&sql), source })?;
            made += 1;
            Ok(())
        })
        .and_then(|()| rows(fill, connect, progress))
        .and_then(|()| finish(fill, connect, progress));
    if result.is_err() {
        // The caller needs the original failure, not one of the clean-up after it.
        for table in TABLES[..made].iter().rev() {
            let _ = run(session.as_mut(), &format!("DROP TABLE IF EXISTS {}", table.name));
        }
    }
    result
}

fn sessions(fill: &Fill, work: usize) -> usize {
    if fill.dialect.fills_in_parallel() { fill.sessions.clamp(1, work) } else { 1 }
}

fn rows<E: Into<Box<dyn Error + Send + Sync>>>(
    fill: &Fill,
    connect: &(dyn Fn() -> Result<Box<dyn Session>, E> + Sync),
    progress: &(dyn Fn(u64) -> ControlFlow<()> + Sync),
) -> Result<(), TpccError> {
    let pieces = Piece::all(fill.sizes);
    let interrupted = || TpccError::Interrupted;
    in_parallel(sessions(fill, pieces.len()), pieces.len(), progress, interrupted, |shared| {
        let mut session = connect().map_err(SessionError::connect)?;
        shared.fills(session.as_mut(), Some(fill.sizes.all_rows()))?;
        let added = |rows| shared.added(rows);
        let mut out = Out::new(session.as_mut(), fill.dialect, &added);
        while let Some(piece) = shared.take() {
            pieces[piece].write(piece, fill.sizes, fill.seed, &mut out)?;
            out.commit()?;
        }
        Ok(())
    })
}

/// Creates indexes and statistics, table by table.
fn finish<E: Into<Box<dyn Error + Send + Sync>>>(
    fill: &Fill,
    connect: &(dyn Fn() -> Result<Box<dyn Session>, E> + Sync),
    progress: &(dyn Fn(u64) -> ControlFlow<()> + Sync),
) -> Result<(), TpccError> {
    let interrupted = || TpccError::Interrupted;
    in_parallel(sessions(fill, TABLES.len()), TABLES.len(), progress, interrupted, |shared| {
        let mut session = connect().map_err(SessionError::connect)?;
        shared.fills(session.as_mut(), Some(fill.sizes.all_rows()))?;
        while let Some(table) = shared.take() {
            let table = &TABLES[table];
            for sql in table.create_index(fill.dialect).into_iter().chain([fill.dialect.analyze(table.name)]) {
                run(session.as_mut(), &sql)?;
            }
            shared.added(0)?;
        }
        Ok(())
    })
}

/// Drops those of the nine tables that exist, and returns their number.
///
/// # Errors
/// [`TpccError::NotOurs`], before anything is dropped, if a table of such a name has other columns; the server's
/// refusal.
pub fn cleanup(session: &mut dyn Session) -> Result<usize, TpccError> {
    let mut there = Vec::new();
    // Tables that refer to others are dropped first.
    for table in TABLES.iter().rev() {
        if reads(session, "1", table.name)? {
            let columns: Vec<_> = table.columns().collect();
            if !reads(session, &columns.join(", "), table.name)? {
                return Err(TpccError::NotOurs { table: table.name });
            }
            there.push(table.name);
        }
    }
    for name in &there {
        run(session, &format!("DROP TABLE {name}"))?;
    }
    Ok(there.len())
}
