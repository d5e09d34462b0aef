//! Placements: the CPUs on which each thread may run, and the nodes of its memory.

mod assign;
mod first_nodes;
mod memory;
mod pairing;
mod resolve;
mod symmetry;
mod words;

pub use memory::{MemoryPolicy, Nodes, PolicyError};
pub use pairing::PairingChoice;
pub use resolve::{Placement, ResolvedPlacement};
pub use symmetry::Marks;
pub use words::{Bind, ClientPus, Pairing, Side};
