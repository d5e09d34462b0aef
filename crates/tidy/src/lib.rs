//! Keeps the tree tidy: what neither the compiler nor clippy guards.
//!
//! `tests/tree.rs` reads the whole tree once, asks every rule, and lists all that was found by file and line.
//! A rule is a file of `rules/` with one function and its own tests; `map` holds, as data, what may use what.

mod finding;
pub mod map;
mod modules;
pub mod rules;
mod tree;
mod uses;

pub use finding::Finding;
pub use tree::{File, Tree};
