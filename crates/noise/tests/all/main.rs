//! Tests on fake machines and on this one, in one test program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod affinities;
mod as_found;
mod common;
mod crashes;
mod doctor;
mod kill;
mod lock;
mod session;
mod torn_journal;
