//! The study `global-counters`: ways to keep counters for many threads, and the workload of ["NUMA Smart Global
//! Counter"](https://mysqlonarm.github.io/NUMA-Smart-Global-Counter/), which compares them. Comments in this crate call
//! the program of that article the original program. Programs that need counters use `tare-counters`.
//!
//! Linux only, like the original program: the kernel is asked for nodes, memory policies and pages.

// Only crates of this workspace use it, so names and types that explain themselves have no comment.
#![allow(missing_docs)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod strategies;
pub mod workload;
