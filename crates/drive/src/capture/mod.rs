//! Data recorded alongside the metrics: threads, host, probes, profiles, lock waits.

pub mod cache;
mod callers;
pub mod environment;
mod events;
pub mod interference;
pub mod lines;
pub mod memory;
pub mod network;
mod patience;
mod perf;
pub mod place;
pub mod probe;
mod profile;
pub mod sample;
pub mod server;
pub mod settings;
mod waits;
mod wakes;
