//! What the machine's distances really cost: cache lines between PUs, memory between nodes.
//!
//! Planning (which PUs and nodes, how long each) is apart from measuring, so that any described machine can be planned
//! for. Nothing here is quadratic without a limit: of a large machine a sample is taken, and the plan says which.

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
