//! The `tare` command. ARCHITECTURE.md at the top of the repository is the map.

// Only the program and its tests use it: where a name and a type say all, no comment does.
#![allow(missing_docs)]

pub mod cli;
pub mod config;
pub mod run;
pub mod state;
pub mod trial;
