//! Two changes to this SQLite: it does not count allocated bytes, and its SQL has a `sleep` function.
//!
//! The count takes a process-wide lock at every allocation, which makes the connections of an embedded server wait
//! for each other. SQLite's own documentation on compile-time options recommends to disable it.

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, Error, Result, ffi};
use std::time::Duration;

/// Limit on a sleep, seconds, so that a server ends in time.
const LONGEST_S: f64 = 10.0;

/// Adds `sleep(seconds)`, as in MariaDB and MySQL: a known service time, used to check the measurement itself.
pub(super) fn add_functions(connection: &Connection) -> Result<()> {
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

/// Disables the count. Must run before the first connection of the process; later it fails.
pub(super) fn switch_statistics_off() -> std::result::Result<(), String> {
    let off: std::ffi::c_int = 0;
    // SAFETY: SQLITE_CONFIG_MEMSTATUS takes exactly one int. The call itself refuses when the library is in use, and
    // the server calls it before it starts any thread.
    let code = unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, off) };
    if code == ffi::SQLITE_OK { Ok(()) } else { Err(format!("sqlite3_config(MEMSTATUS, off) returned {code}")) }
}

/// Verifies, with a connection open, that nothing is counted.
pub(super) fn verify_statistics_are_off() -> std::result::Result<(), String> {
    // SAFETY: takes nothing, returns a number, and may be called at any time.
    match unsafe { ffi::sqlite3_memory_used() } {
        0 => Ok(()),
        bytes => Err(format!("SQLite still counts its memory: {bytes} bytes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_statement_sleeps_as_long_as_it_says_and_every_time() {
        let connection = Connection::open_in_memory().unwrap();
        add_functions(&connection).unwrap();
        let began = Instant::now();
        let slept: i64 = connection.query_row("SELECT sleep(0.02) + sleep(0.02)", [], |row| row.get(0)).unwrap();
        assert!(slept == 0 && began.elapsed() >= Duration::from_millis(40));
        let refused = connection.query_row("SELECT sleep(-1)", [], |_| Ok(())).unwrap_err();
        assert!(refused.to_string().contains("expected 0 to 10 seconds"), "{refused}");
    }

    /// Unlike a server, this process did not disable the count in time: it continues, and both calls report so.
    #[test]
    fn a_count_that_goes_on_is_seen_and_cannot_be_switched_off_later() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(10000))").unwrap();
        assert!(verify_statistics_are_off().unwrap_err().contains("still counts"));
        assert!(switch_statistics_off().unwrap_err().contains("returned 21"), "21 is SQLITE_MISUSE");
    }
}
