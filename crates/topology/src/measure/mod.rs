//! Measures distances on a machine: round trips of cache lines between PUs, latency and bandwidth of memory between
//! nodes.
//!
//! A [`MeasurePlan`] selects PUs and nodes and the time for each. It can be made for any described machine;
//! [`measure()`] executes it. The number of pairs is limited: on a large machine a sample is measured, and the plan
//! says which.

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
