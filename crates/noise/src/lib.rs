//! Noise control: applies machine-wide settings and restores them with a journal, and measures what disturbs a
//! benchmark.
//!
//! This is the only crate of the project that writes under /proc/sys, /proc/irq and /sys (including control groups of
//! servers). It prints nothing; all results are data.
//!
//! Settings:
//!
//! - Take the [`HostLock`], so that only one run at a time uses the machine.
//! - Begin a [`Session`]. It first restores what a killed run left. Then apply levels of [`Setting`]s. The original
//!   values are written to a journal before any change, and the end of the session restores them.
//! - [`recover`] restores what a killed run left, for `tare restore`; [`recover_trial`] does so after a trial that was
//!   killed. [`verify_as_found`] checks before a trial that no setting of an earlier trial is left.
//! - [`ThreadAffinities`] binds threads of a server that this program did not start, and restores their affinities with
//!   a journal too.
//!
//! Measurements:
//!
//! - The difference of two [`Snapshot`]s says what else the machine did during a sample; [`CpuUse`] measures the CPU
//!   time of other programs.
//! - A [`probe`] times a known piece of work and so shows how fast the machine is.
//! - The [`doctor`] lists the noise sources of the machine, with commands that remove them.

#![warn(clippy::missing_errors_doc)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod cache_limit;
mod cache_monitor;
mod control_group;
pub mod doctor;
mod error;
#[cfg(any(test, feature = "test-support"))]
#[doc(hidden)]
pub mod fake;
mod group_state;
mod interference;
mod journal;
mod lock;
mod lock_file;
mod memory_group;
pub mod probe;
mod session;
mod setting;
mod state_dir;
mod system;

pub use cache_limit::{CacheGroup, CacheLimits};
pub use cache_monitor::{CacheMonitor, CacheUse};
pub use control_group::ControlGroup;
pub use error::{NoiseError, Result};
pub use group_state::{Freezers, OomKills};
pub use interference::{CpuUse, Foreign, Snapshot, Throttled, Throttling};
pub use journal::{
    Journal, Outcome, RestoreReport, Restored, ThreadAffinities, boot_id, recover, recover_trial, verify_as_found,
};
pub use lock::{HostLock, Patience, TrialLock};
pub use memory_group::{
    MemoryConfines, MemoryGroup, MemoryGroups, memory_limit_bytes, own_memory_left_bytes, own_memory_limit_bytes,
};
pub use session::{Applied, Session};
pub use setting::{Availability, Level, Setting};
pub use state_dir::{default_state_dir, host_name};
pub use system::System;

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
