//! SQLite as a server: the same executable as a separate process, with a thread a connection, so that placement,
//! restarts and pairing mean the same as for any server.
//!
//! A result is sent to the client row by row as a server would send it, also when the client discards it: what is
//! measured includes carrying the bytes. A transaction that meets BUSY is rolled back by the server before it answers,
//! and ROLLBACK outside a transaction is no error; both as MariaDB does on a deadlock, so that a workload can simply
//! begin again.

mod connection;
mod diagnostics;
mod dialect;
mod engine;
mod failure;
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
