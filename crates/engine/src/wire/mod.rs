//! The MariaDB and MySQL client protocol, as far as a benchmark needs it.
//!
//! It is a separate implementation, not the `mysql` crate. Point selects, client and server on one core, 200,000
//! queries each; CPU cost (user; user + system) of sysbench 1.0.20: 1x; 1x, of the crate: 0.85 to 0.90x; 1.04x, of
//! this module: 0.35x; 0.84x. The crate alone, before any workload code, already reaches this project's limits of
//! 0.85x and 1.05x. The difference is that the hot path here does not allocate, copy or decode anything: one send,
//! one receive, rows counted by their headers. Source of the protocol: MariaDB's documentation, "Clientserver
//! protocol".
//!
//! Not implemented, because nothing needs it: compression, and authentication methods other than
//! `mysql_native_password` and `caching_sha2_password`.

mod columns;
mod connection;
mod framing;
mod local;
mod login;
mod response;
mod serving;

pub(crate) use connection::{Connection, HANDLING, OWN_THREADS};
