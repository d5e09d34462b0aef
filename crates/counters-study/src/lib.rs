//! The study `global-counters`: ways to keep counters for many threads, and the workload of "NUMA Smart Global Counter"
//! that compares them. A program that wants to count takes `tare-counters`.
//!
//! Linux only, as the article's program: nodes, memory policies and pages are asked of the kernel.

// Only crates of this workspace use it: where a name and a type say all, no comment does.
#![allow(missing_docs)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod strategies;
pub mod workload;
