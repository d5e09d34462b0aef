//! Measures round trips of cache lines between PUs, and latency and bandwidth of memory between nodes.
//!
//! A [`MeasurePlan`] selects PUs and nodes and the time for each. It can be made for any described machine;
//! [`measure()`] executes it. On a large machine only a sample of all pairs is measured; the plan says which.

mod plan;
mod run;
mod timing;

pub use plan::{MAX_CPUS, MAX_NODES, MeasurePlan};
pub use run::{Cost, Costs, Measured, measure};
pub use timing::MeasureError;
