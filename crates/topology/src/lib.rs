//! The machine: hwloc topology, location expressions, placements, binding and reading back.
//!
//! - [`Machine`]: packages, caches, cores, PUs and NUMA nodes of this machine or of a described one, as plain data.
//! - [`Location`]: which CPUs, in hwloc-calc's notation (`node:1.core:0-1.pu:0`).
//! - [`Placement`]: which CPUs each client and server thread may run on, and where memory comes from.
//! - [`bind`]: sets memory policies of threads, and reads them back. Nothing else in this project does.
//! - [`observe`]: where pages really are.
//! - [`measure`]: what the distances between PUs and nodes really cost.

#![warn(clippy::missing_errors_doc)]

pub mod bind;
mod location;
mod machine;
pub mod measure;
pub mod observe;
mod placement;
mod reason;
mod text;

pub use location::{Index, Location, LocationError, ObjectKind, Step, Term};
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
