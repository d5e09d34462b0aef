//! The memory of a set: a row of packed 8-byte counters for each possible CPU, and one extra row for adds that must not
//! go to the row of a CPU.

#[cfg(not(all(target_os = "linux", not(any(miri, loom)))))]
mod heap;
#[cfg(all(target_os = "linux", not(any(miri, loom))))]
mod mapped;

#[cfg(not(all(target_os = "linux", not(any(miri, loom)))))]
pub use heap::Rows;
#[cfg(all(target_os = "linux", not(any(miri, loom))))]
pub use mapped::Rows;

#[cfg(loom)]
pub(crate) use loom::sync::atomic::AtomicU64;
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::AtomicU64;
