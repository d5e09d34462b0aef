//! The MariaDB and MySQL client protocol, as far as a benchmark needs it.
//!
//! Own code and not the `mysql` crate: point selects of sysbench 1.0.20, the crate and this module in turn, client and
//! server on one core, 200,000 queries each, cost (user, user + system) 1x, 1x; 0.85 to 0.90x, 1.04x; 0.35x, 0.84x. The
//! crate alone, before any workload code, stands at this project's bounds of 0.85x and 1.05x. What makes the difference
//! is that nothing is allocated, copied or decoded on the hot path: one send, one receive, rows counted by their
//! headers. Facts from MariaDB's protocol documentation, "Clientserver protocol".
//!
//! Not here because nothing needs it: compression, authentication other than `mysql_native_password` and
//! `caching_sha2_password`.

mod bytes;
mod columns;
mod connection;
mod execute;
mod framing;
mod greeting;
mod local;
mod login;
mod response;
mod serving;

pub(crate) use connection::Connection;
