//! On which NUMA nodes the pages of a process are, from /proc. Works on any process of the same user.

mod huge;
pub(crate) mod numa_maps;
mod numastat;
mod pages;

pub use huge::{HugeMemory, huge_memory};
pub use numastat::{NodeStat, numastat};
pub(crate) use pages::is_shared_memory;
pub use pages::{NodePages, PagesByPolicy, pages_by_node, pages_by_policy};
