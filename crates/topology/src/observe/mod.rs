//! Where the threads and pages of a process really are, from /proc. Works on any process of the same user.

mod error;
mod huge;
pub(crate) mod numa_maps;
mod numastat;
mod pages;
mod proc_file;
mod thread_ref;
mod threads;
mod usage;

pub use error::ObserveError;
pub use huge::{HugeMemory, huge_memory};
pub use numastat::{NodeStat, numastat};
pub use pages::{NodePages, pages_by_node};
pub use thread_ref::ThreadRef;
pub use threads::{ThreadSample, descendants, last_cpu, started_ticks, thread, threads, threads_of};
pub use usage::{ProcessUsage, process_usage, switches};
