//! Checks of the source tree that neither the compiler nor clippy makes.
//!
//! `tests/tree.rs` reads the whole tree once, runs every rule, and lists all findings by file and line. Each rule is
//! a file of `rules/` with one function and its own tests; `map` holds, as data, the allowed dependencies.

pub mod map;
mod modules;
pub mod rules;
mod tree;
mod uses;

pub use tree::{File, Finding, Tree};
