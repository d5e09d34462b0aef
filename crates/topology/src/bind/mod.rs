//! Binding memory to nodes, and reading back what the kernel made of it; threads are bound by `tare-cpuset`.
//!
//! A server is bound before it exists: CPUs and memory policy are inherited over fork and exec, so [`Placed`] puts
//! them on the calling thread, the server is spawned, and [`Placed::restore`] puts the thread's own back. Nothing runs
//! between fork and exec.

mod error;
mod memory;
mod placed;
mod shared;

pub use error::BindError;
pub use memory::{read_memory_policy, set_memory_policy, this_thread_memory_policy};
pub use placed::Placed;
pub use shared::{set_shared_memory_policy, shared_memory_pages};
