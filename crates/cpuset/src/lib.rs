//! CPU sets in the kernel's notation, CPU affinity of threads of any process, and what those threads do.
//!
//! - [`CpuSet`]: a set of OS CPU numbers, written `0-3,8`; [`NodeSet`] is the same for NUMA nodes.
//! - [`ThreadRef`]: a thread of this process or of another one.
//! - [`bind_thread`] and [`affinity_of`]: set and read the CPUs a thread may run on.
//! - [`Limits`]: whether the limits of the system allow a given number of further threads.
//! - [`observe`]: where threads run, how long they ran and waited, and what resources a process used.
//!
//! The crate runs on Linux only and needs no C library.

#![warn(clippy::missing_errors_doc)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod affinity;
mod error;
mod index_set;
mod limits;
pub mod observe;

pub use affinity::{SavedAffinity, affinity_of, bind_thread, keep_affinity};
pub use error::AffinityError;
pub use index_set::{CpuSet, IndexSet, IndexSetError, MAX_INDEX, NodeSet, parse_index};
pub use limits::{
    LimitTooLow, Limits, ThreadRefused, Wanted, to_raise, to_raise_for_files, to_raise_for_low_limits,
    to_raise_for_tasks,
};
pub use observe::ThreadRef;

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
