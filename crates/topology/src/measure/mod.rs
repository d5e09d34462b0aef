//! Measures round trips of cache lines between PUs, and latency and bandwidth of memory between nodes.
//!
//! A [`MeasurePlan`] selects PUs and nodes and the time for each. It can be made for any described machine;
//! [`measure()`] executes it. On a large machine only a sample of all pairs is measured; the plan says which.

mod cache_line;
mod costs;
mod error;
mod memory;
mod plan;
mod run;
mod working_set;

pub use costs::{Cost, Costs};
pub use error::MeasureError;
pub use plan::{MAX_CPUS, MAX_NODES, MeasurePlan};
pub use run::{Measured, measure};
