//! Sets memory policies and reads them back from the kernel. The crate `tare-cpuset` binds threads to CPUs.
//!
//! A server is bound before it starts, because CPU affinity and memory policy are inherited over fork and exec:
//! [`Placed`] applies them to the calling thread, the caller spawns the server, and [`Placed::restore`] restores the
//! thread's own. No code runs between fork and exec.

mod error;
mod memory;
mod placed;
mod shared;

pub use error::BindError;
pub use memory::{may_set_memory_policy, read_memory_policy, set_memory_policy, this_thread_memory_policy};
pub use placed::Placed;
pub use shared::{set_shared_memory_policy, shared_memory_pages};
