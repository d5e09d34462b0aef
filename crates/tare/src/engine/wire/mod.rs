//! The MariaDB and MySQL client protocol, as far as a benchmark needs it.
//!
//! Own code and not the `mysql` crate: measured against sysbench 1.0.20 with client and server on one core, the crate
//! cost 0.90x of sysbench's user time a point select before any workload code, over this project's bound of 0.85x.
//! What makes the difference is that nothing is allocated, copied or decoded on the hot path: one send, one receive,
//! rows counted by their headers. Facts from MariaDB's protocol documentation, "Clientserver protocol".
//!
//! Not here because nothing needs it: TLS, compression, LOCAL INFILE, authentication other than
//! `mysql_native_password`.

mod bytes;
mod connection;
mod execute;
mod framing;
mod greeting;
mod response;

pub(super) use connection::Connection;
