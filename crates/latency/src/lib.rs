//! Latencies of many transactions in one HDR histogram: record, merge, compute percentiles, encode and decode.
//!
//! ```
//! use tare_latency::Latencies;
//! let mut latencies = Latencies::new();
//! (1..=1000).for_each(|us| latencies.record(us * 1000));
//! let p99 = latencies.percentile_ms(99.0).unwrap();
//! assert!((p99 / 0.99 - 1.0).abs() < 0.001);
//! let text = latencies.encode();
//! assert_eq!(Latencies::decode(&text).unwrap().count(), 1000);
//! ```

mod latencies;
mod text;

pub use latencies::Latencies;
pub use text::DecodeError;
