//! Machine-wide settings: record, apply, verify and restore, with a journal; what disturbs a measurement.
//!
//! The only place that writes under /proc/sys, /proc/irq and /sys, control groups of servers included. No printing:
//! everything is data.
//!
//! Take the [`HostLock`], begin a [`Session`] (which first puts back what a killed run left), apply levels of
//! [`Setting`]s; the end of the session puts back what was there. [`recover`] does the same for `tare restore`,
//! [`recover_trial`] for the one who ends a trial that could not; [`verify_as_found`] is what a trial asks before it
//! begins. [`ThreadAffinities`] binds threads of someone else's server under the same promise. [`Snapshot`]s before
//! and after a sample say what else the machine did, a [`probe`] how fast it is.

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
mod fake_kernel;
pub mod interference;
mod journal;
mod kernel;
mod lock;
mod lock_file;
mod memory_group;
pub mod probe;
mod process_stat;
mod resctrl;
mod session;
mod setting;
mod state_dir;
mod system;

pub use cache_limit::{CacheGroup, CacheLimits};
pub use cache_monitor::{CacheMonitor, CacheUse};
pub use control_group::ControlGroup;
pub use error::{NoiseError, Result};
pub use interference::{CpuUse, Foreign, Snapshot, Throttled, Throttling};
pub use journal::{
    Journal, Outcome, RestoreReport, Restored, ThreadAffinities, recover, recover_trial, verify_as_found,
};
pub use lock::{HostLock, Patience, TrialLock};
pub use memory_group::{MemoryConfines, MemoryGroup, MemoryGroups, memory_limit_bytes};
pub use session::{Applied, Session};
pub use setting::{Availability, Level, Setting};
pub use state_dir::{ROOT_STATE_DIR, default_state_dir};
pub use system::System;

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
