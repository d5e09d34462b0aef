//! Hardware topology (hwloc), placement of threads and memory on it, memory policies, and measured distances.
//!
//! A *PU* (processing unit) is hwloc's word for a logical CPU: one hardware thread of a core.
//!
//! - [`Machine`]: packages, caches, cores, PUs and NUMA nodes of this machine or of a described one, as plain data.
//! - [`Location`]: an expression that selects CPUs, in hwloc-calc's notation (`node:1.core:0-1.pu:0`).
//! - [`Placement`]: the CPUs on which each client and server thread may run, and the NUMA nodes of their memory.
//! - [`bind`]: sets and reads memory policies. No other crate of the project does.
//! - [`observe`]: on which NUMA nodes the pages of a process are.
//! - [`measure`]: measures cache-line transfer and memory access between PUs and nodes.

#![warn(clippy::missing_errors_doc)]

pub mod bind;
mod location;
mod machine;
pub mod measure;
pub mod observe;
mod placement;
mod reason;
mod text;

pub use location::{Location, LocationError};
pub use machine::{
    Cache, Change, Core, CpuKind, Die, Excluded, Fingerprint, Machine, MachineError, Node, NodeLayout, Origin, Package,
    Pu, Shared, TopologyReader,
};
pub use placement::{
    Bind, ClientPus, Marks, MemoryPolicy, Nodes, Pairing, PairingChoice, Placement, PolicyError, ResolvedPlacement,
    Side,
};
pub use reason::NotRealizable;
pub use tare_text::UnknownWord;

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
