//! The `tare` command. ARCHITECTURE.md at the top of the repository describes the structure.

// Only the program and its tests use this crate: items whose name and type are clear have no comment.
#![allow(missing_docs)]

pub mod cli;
mod config;
pub mod run;
mod state;
mod trial;
