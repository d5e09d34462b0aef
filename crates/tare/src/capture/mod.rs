//! What is recorded beside the metrics: threads, host, profiles, lock waits.

pub mod environment;
pub mod interference;
mod locks;
pub mod memory;
pub mod pages;
pub mod place;
mod profile;
pub mod sample;
pub mod server;
pub mod settings;
mod status;
