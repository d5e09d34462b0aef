//! Binding threads to CPUs and memory to nodes, and reading back what the kernel made of it.
//!
//! Threads are bound by their id ([`bind_thread`]), of this process or any other of the same user. A server is bound
//! before it exists: CPUs and memory policy are inherited over fork and exec, so [`Placed`] puts them on the calling
//! thread, the server is spawned, and [`Placed::restore`] puts the thread's own back. Nothing runs between fork and
//! exec.

mod affinity;
mod error;
mod memory;
mod placed;

pub use affinity::{affinity_of, bind_thread};
pub use error::BindError;
pub use memory::{read_memory_policy, set_memory_policy, this_thread_memory_policy};
pub use placed::Placed;
