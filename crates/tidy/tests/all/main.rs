//! The tests of this tree against its rules, in one test program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod book;
mod licences;
mod tree;
