//! Tests with described machines and with this one, in one test program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods)]

mod binding;
mod common;
mod fingerprint;
mod location;
mod machine;
mod measure;
mod placement;
mod shares;
