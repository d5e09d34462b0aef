//! Tests of the whole program, in one test binary: linking a binary takes as long as many tests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods)]

#[path = "../../../noise/tests/all/crashes.rs"]
mod crashes;
#[allow(dead_code, reason = "some draws are only for the tests of findings")]
#[path = "../../../findings/tests/all/draws.rs"]
mod draws;
mod ends;
mod engines;
mod fuzz;
mod initialised;
mod loads;
#[path = "../../../noise/tests/all/common.rs"]
mod noise_common;
mod numa;
mod report;
mod shipped;
mod studies;
mod support;
#[path = "../../../topology/tests/all/common.rs"]
mod topology_common;
mod two_hosts;
