//! Where the pages of a process really are, from /proc. Works on any process of the same user.

mod huge;
pub(crate) mod numa_maps;
mod numastat;
mod pages;

pub use huge::{HugeMemory, huge_memory};
pub use numastat::{NodeStat, numastat};
pub use pages::{NodePages, pages_by_node};
