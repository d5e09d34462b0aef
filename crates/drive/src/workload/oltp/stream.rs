//! Rows behind a statement, for servers that take them so at less cost than as INSERTs.

use super::OltpError;
use super::rows::{Fill, Progress, SbtestRow};
use std::io::ErrorKind;
use tare_engine::Session;
use tare_load::{Purpose, Random};

/// Rows of one statement, and so of one transaction: some 40 MB.
const ROWS_PER_STATEMENT: u64 = 200_000;
/// Rows between two looks whether the work is to stop.
const ROWS_PER_LOOK: u64 = 1000;

/// Fills a table over the connection.
pub(super) fn stream_rows(
    session: &mut dyn Session,
    fill: &Fill,
    table: usize,
    progress: Progress<'_>,
) -> Result<(), OltpError> {
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
            (None, Err(source)) => return Err(OltpError::statement(&sql, source)),
            (None, Ok(found)) if found != expected => return Err(OltpError::Loaded { table, expected, found }),
            (None, Ok(_)) => done += expected,
        }
    }
    Ok(())
}
