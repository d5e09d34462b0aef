//! What is recorded alongside the metrics: threads, host, probes, profiles, lock waits.

pub mod environment;
pub mod interference;
mod locks;
pub mod memory;
pub mod network;
pub mod pages;
pub mod place;
mod platform;
pub mod probe;
mod profile;
pub mod sample;
pub mod server;
pub mod settings;
mod status;
mod waits;
mod wakes;
