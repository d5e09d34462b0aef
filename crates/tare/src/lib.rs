//! The `tare` command. ARCHITECTURE.md at the top of the repository is the map.

pub mod analysis;
pub mod capture;
pub mod cli;
pub mod config;
pub mod export;
pub mod hosts;
pub mod plan;
pub mod report;
pub mod run;
pub mod state;
pub mod study;
pub mod subject;
pub mod trial;
pub mod workload;
