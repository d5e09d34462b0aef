//! What is recorded beside the metrics: threads, host, profiles, lock waits.

pub mod environment;
mod locks;
mod profile;
pub mod sample;
mod status;
pub mod threads;
