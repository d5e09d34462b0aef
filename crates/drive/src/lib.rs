//! Drives and observes a trial: loads, the system under test and its threads, and the captures of both.

// Only crates of this workspace use this crate: comments that would only repeat a name or a type are left out.
#![allow(missing_docs)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod capture;
pub mod sut;
pub mod workload;
