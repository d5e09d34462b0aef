//! What a trial drives and looks at: loads, the system under test and its threads, and what is captured of both.

// Only crates of this workspace use it: where a name and a type say all, no comment does.
#![allow(missing_docs)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod capture;
pub mod sut;
pub mod workload;
