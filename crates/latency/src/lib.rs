//! Latencies of many transactions in one HDR histogram: record, merge, compute percentiles, encode and decode.

mod latencies;
mod text;

pub use latencies::Latencies;
pub use text::DecodeError;

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
