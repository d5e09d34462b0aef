//! PostgreSQL: a private cluster without the system's configuration, and with one process per connection.
//!
//! It uses its own client instead of the `postgres` crate, for the reason given in `wire`; only the SCRAM
//! implementation is from that project.

mod binary;
mod connection;
mod diagnostics;
mod dialect;
mod entry;
mod message;
mod server;

pub use binary::Postgresql;
