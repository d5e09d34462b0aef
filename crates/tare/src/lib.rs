//! The `tare` command. ARCHITECTURE.md at the top of the repository is the map.

pub mod analysis;
pub mod capture;
pub mod cli;
pub mod engine;
pub mod nearest;
pub mod report;
pub mod results;
pub mod study;
pub mod workload;
