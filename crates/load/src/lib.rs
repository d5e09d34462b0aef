//! Load generator: pinned client threads, closed and open loop, key distributions, latency recording.
//!
//! A caller implements [`Client`] (one connection that runs transactions) and [`Connect`] (makes one inside the thread
//! that will use it), says how to drive them in a [`LoadSettings`] and calls [`run()`]. An [`Observer`] hears of the
//! threads, of the borders of every sample and of the throughput once a second, and can end the run.
//!
//! The crate binds nothing itself: [`Connect::bind`] runs first in every client thread and [`Observer::connected`] once
//! all of them are connected; the caller binds there.

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
pub use pace::{Arrivals, Pace, Schedule};
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
