//! Where threads of a process run, and what resources it used, from /proc. Works on any process of the same user.

mod error;
mod in_call;
mod proc_file;
mod sighting;
mod storage;
mod thread_ref;
mod threads;
mod usage;

pub use error::ObserveError;
pub use in_call::{Call, InCall, InCallFile, NoCall, epoll_watches, in_call};
pub use proc_file::{arguments, environment, parse, proc_text};
pub use sighting::{Sighting, SightingFile, last_cpu, sighting};
pub use storage::{StorageUsage, storage_usage};
pub use thread_ref::ThreadRef;
pub use threads::{
    ThreadSample, ThreadState, descendants, started_ticks, state_of, thread, threads, threads_of, waited,
    with_descendants,
};
pub use usage::{ProcessUsage, process_usage, switches};
