//! A machine as plain data.

mod counts;
mod error;
mod hwloc;
mod load;
mod model;

pub use error::MachineError;
pub use model::{Cache, Core, CpuKind, Die, Excluded, Machine, Node, Origin, Package, Pu};
