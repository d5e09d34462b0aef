//! Machines: discovery, descriptions, and their properties as plain data.

mod arm;
mod change;
mod counts;
mod error;
mod fingerprint;
mod hwloc;
mod load;
mod model;
mod reader;
mod reader_child;
mod xml;

pub use change::{Change, Shared};
pub use counts::NodeLayout;
pub use error::MachineError;
pub use fingerprint::Fingerprint;
pub use model::{Cache, Core, CpuKind, Die, Excluded, Machine, Node, Origin, Package, Pu};
pub use reader::TopologyReader;
