//! CPU sets as the kernel writes them, threads of any process, binding them and reading back where they are.
//!
//! - [`CpuSet`]: OS numbers of CPUs, written `0-3,8`; [`NodeSet`] the same for NUMA nodes.
//! - [`ThreadRef`]: a thread of this process or of another one.
//! - [`bind_thread`] and [`affinity_of`]: the CPUs a thread may run on, set and read back.
//! - [`Limits`]: whether there is room for so many more threads.
//! - [`observe`]: where threads run, how long they ran and waited, what a process used.
//!
//! No C library is needed; Linux only.

#![warn(clippy::missing_errors_doc)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod affinity;
mod error;
mod index_set;
mod limits;
pub mod observe;

pub use affinity::{HeldAffinity, affinity_of, bind_thread, keep_affinity};
pub use error::AffinityError;
pub use index_set::{CpuSet, IndexSet, IndexSetError, MAX_INDEX, NodeSet, parse_index};
pub use limits::{LimitTooLow, Limits, ThreadRefused, Wanted};
pub use observe::ThreadRef;

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
