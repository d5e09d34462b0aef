//! PostgreSQL: a private cluster without configuration of the system's, a process a connection.
//!
//! Its own client and not the `postgres` crate, for the reason that stands in `wire`; what is kept of that project is
//! its SCRAM.

mod arguments;
mod binary;
mod connection;
mod diagnostics;
mod dialect;
mod entry;
mod install;
mod login;
mod message;
mod option_file;
mod server;
mod wait_events;

pub use binary::Postgresql;
