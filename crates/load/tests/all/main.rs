//! Tests with real client threads, in one test program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod intervals;
mod run;
