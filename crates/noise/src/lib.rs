//! Machine-wide settings: record, apply, verify and restore, with a journal; what disturbs a measurement.
//!
//! The only place that writes under /proc/sys, /proc/irq and /sys. No printing: everything is data.

mod cpulist;
mod error;
pub mod fake;
pub mod interference;
mod system;

pub use cpulist::CpuList;
pub use error::{NoiseError, Result};
pub use interference::Snapshot;
pub use system::System;
