//! What else the machine did during a measurement: cheap readings before and after a sample, and their difference.

pub(crate) mod counters;
mod cpu_time;
mod snapshot;

pub(crate) use cpu_time::quota_folders;
pub use cpu_time::{CpuUse, Foreign, Throttled, Throttling};
pub use snapshot::Snapshot;
