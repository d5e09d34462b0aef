//! What is recorded beside the metrics: threads, host, profiles, lock waits.

pub mod environment;
pub mod interference;
pub mod pages;
pub mod threads;
