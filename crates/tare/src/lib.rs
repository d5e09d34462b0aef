//! The `tare` command. ARCHITECTURE.md at the top of the repository is the map.

pub mod cli;
pub mod config;
pub mod run;
pub mod state;
pub mod trial;
