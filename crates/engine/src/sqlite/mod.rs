//! SQLite as a server: the same executable as a separate process, with one thread per connection, so that placement,
//! restarts and pairing mean the same as for any server.
//!
//! A result is sent to the client row by row, as another server would send it, even if the client discards it: the
//! measurement includes transferring the bytes. The server rolls back a transaction that meets BUSY before it
//! answers, and ROLLBACK outside a transaction is no error; both as MariaDB does on a deadlock, so that a workload
//! can simply begin again.

mod connection;
mod diagnostics;
mod dialect;
mod engine;
mod library;
#[cfg_attr(not(any(test, feature = "planted-lock")), path = "unplanted.rs")]
mod planted;
mod pragmas;
mod protocol;
mod serve;
mod session;
mod waited;

pub use pragmas::Sqlite;
pub use serve::{ServeArgs, serve};
