//! On which NUMA nodes the pages of a process are, from /proc. Works on any process of the same user.

mod numastat;
pub(crate) mod pages;

pub use numastat::{NodeStat, numastat};
pub(crate) use pages::is_shared_memory;
pub use pages::{HugeMemory, NodePages, PagesByPolicy, huge_memory, pages_by_node, pages_by_policy};
