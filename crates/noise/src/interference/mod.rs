//! What else the machine did during a measurement: cheap readings before and after a sample, and their difference.

mod counters;
mod foreign;
mod snapshot;
mod throttling;

pub use foreign::{CpuUse, Foreign};
pub use snapshot::Snapshot;
pub use throttling::{Throttled, Throttling};
