//! The journal: original values are on disk before any write, and are restored from there.

mod affinity;
mod file;
mod outcome;
mod restore;

pub use affinity::ThreadAffinities;
pub(crate) use file::{Entry, Undo, VERSION};
pub use file::{Format, Journal, boot_id};
pub use outcome::{Outcome, RestoreReport, Restored};
pub(crate) use restore::undo_all;
pub use restore::{recover, recover_trial, verify_as_found};
