//! Tests of the guarantees of the counters, in one test program; `tests/loom.rs` checks every interleaving of the
//! fallback.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]
#![cfg(not(loom))]
#![allow(clippy::disallowed_methods)]

#[cfg(not(miri))]
#[allow(dead_code, reason = "the benchmark uses the rest")]
#[path = "../../benches/ratios/contenders.rs"]
mod contenders;
mod contract;
#[cfg(all(target_os = "linux", not(miri)))]
mod exact;
#[cfg(all(target_os = "linux", not(miri)))]
mod moved_threads;
#[cfg(not(miri))]
mod peers;
