//! Machines: discovery, descriptions, and their properties as plain data.

mod fingerprint;
mod hwloc;
mod load;
mod model;
mod reader;

pub use fingerprint::{Change, Fingerprint, Shared};
pub use hwloc::MachineError;
pub use model::{Cache, Core, CpuKind, Die, Excluded, Machine, Node, NodeLayout, Origin, Package, Pu};
pub use reader::TopologyReader;
