//! Load generator: client threads, closed and open loop, key distributions, latency recording.
//!
//! The caller implements [`Client`] (one connection that runs transactions) and [`Connect`] (creates a client in the
//! thread that uses it), sets threads, pace and samples in a [`LoadSettings`], and calls [`run()`]. An [`Observer`] is
//! called when the threads are connected, at the start and end of every sample, and once per second with the
//! throughput; it can also end the run.
//!
//! The crate does not bind threads to CPUs. The caller does so in [`Connect::bind`], which runs first in every client
//! thread, or in [`Observer::connected`], which runs when all threads are connected.

#![warn(clippy::missing_errors_doc)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod client;
mod cpu;
mod curve;
mod pace;
mod random;
mod recorder;
mod run;
mod sample;

pub use client::{Attempt, Client, ClientThread, Connect, Queries};
pub use curve::{Curve, NoCurve};
pub use pace::{Arrivals, Pace};
pub use random::{Distribution, Draw, Purpose, Random, UnknownDistribution};
pub use run::{
    Interval, Intervals, LoadSettings, MOST_THREADS, Observer, Reading, Rest, RunError, RunPhase, Unobserved, run,
};
pub use sample::{CpuPerTransaction, LatencyMs, Queued, Sample, Slice, Stall, ThreadSample};
pub use tare_latency::Latencies;

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
