//! The rows of the table of keys, a file a section, in the order in which a study is written.

mod capture;
mod client;
mod common;
mod engine;
mod placement;
mod process;
mod running;
mod workload;

pub use common::COMMON;
