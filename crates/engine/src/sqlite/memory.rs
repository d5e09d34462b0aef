//! SQLite's count of allocated bytes, switched off: it takes one lock of the whole process at every allocation, which
//! makes the connections of an embedded server wait for each other. SQLite's own advice for compiling it says the same.

use rusqlite::ffi;

/// Switches the count off. Before the first connection of the process; later it fails.
pub(super) fn switch_statistics_off() -> Result<(), String> {
    let off: std::ffi::c_int = 0;
    // SAFETY: SQLITE_CONFIG_MEMSTATUS takes exactly one int. The call itself refuses when the library is in use, and
    // the server calls it before it starts any thread.
    let code = unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, off) };
    if code == ffi::SQLITE_OK { Ok(()) } else { Err(format!("sqlite3_config(MEMSTATUS, off) returned {code}")) }
}

/// Reads back, with a connection open, that nothing is counted.
pub(super) fn verify_statistics_are_off() -> Result<(), String> {
    // SAFETY: takes nothing, returns a number, and may be called at any time.
    match unsafe { ffi::sqlite3_memory_used() } {
        0 => Ok(()),
        bytes => Err(format!("SQLite still counts its memory: {bytes} bytes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This process never asked in time, unlike a server: the count goes on, and both calls say so.
    #[test]
    fn a_count_that_goes_on_is_seen_and_cannot_be_switched_off_later() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(10000))").unwrap();
        assert!(verify_statistics_are_off().unwrap_err().contains("still counts"));
        assert!(switch_statistics_off().unwrap_err().contains("returned 21"), "21 is SQLITE_MISUSE");
    }
}
