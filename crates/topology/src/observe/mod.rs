//! Where the threads and pages of a process really are, from /proc. Works on any process of the same user.

mod error;
mod numastat;
mod pages;
mod threads;

pub use error::ObserveError;
pub use numastat::{NodeStat, numastat};
pub use pages::{NodePages, pages_by_node};
pub use threads::{ThreadSample, last_cpu, thread, threads, tids};
