//! Functions that the embedded engine's SQL has besides SQLite's own.

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, Error, Result};
use std::time::Duration;

/// The longest sleep, so that a server ends in its time.
const LONGEST_S: f64 = 10.0;

/// Adds `sleep(seconds)`, which MariaDB and MySQL have too: a statement with a known service time, by which the
/// measuring itself is checked.
pub(super) fn add(connection: &Connection) -> Result<()> {
    connection.create_scalar_function("sleep", 1, FunctionFlags::SQLITE_UTF8, |context| {
        let seconds: f64 = context.get(0)?;
        if !(0.0..=LONGEST_S).contains(&seconds) {
            let what = format!("sleep({seconds}): expected 0 to {LONGEST_S} seconds");
            return Err(Error::UserFunctionError(what.into()));
        }
        std::thread::sleep(Duration::from_secs_f64(seconds));
        Ok(0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_statement_sleeps_as_long_as_it_says_and_every_time() {
        let connection = Connection::open_in_memory().unwrap();
        add(&connection).unwrap();
        let began = Instant::now();
        let slept: i64 = connection.query_row("SELECT sleep(0.02) + sleep(0.02)", [], |row| row.get(0)).unwrap();
        assert!(slept == 0 && began.elapsed() >= Duration::from_millis(40));
        let refused = connection.query_row("SELECT sleep(-1)", [], |_| Ok(())).unwrap_err();
        assert!(refused.to_string().contains("expected 0 to 10 seconds"), "{refused}");
    }
}
