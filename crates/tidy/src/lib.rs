//! Checks of the source tree that neither the compiler nor clippy makes.
//!
//! `tests/tree.rs` reads the whole tree once, runs every rule, and lists all findings by file and line. A rule is a
//! function of `rules/` with its own tests, next to the rules on the same thing; `map` holds, as data, the allowed
//! dependencies.

pub mod map;
mod modules;
pub mod rules;
mod tree;

pub use tree::{File, Finding, Tree};
