//! Servers that send false data, stall or disconnect, in one test program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods)]

mod hostile_answers;
mod hostile_keys;
mod hostile_servers;
mod hostile_tls;
