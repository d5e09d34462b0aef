//! The journal: original values are on disk before any write, and are restored from there.

mod affinity;
mod as_found;
mod entry;
mod file;
mod outcome;
mod restore;

pub use affinity::ThreadAffinities;
pub use as_found::{recover_trial, verify_as_found};
pub use entry::Format;
pub(crate) use entry::{Entry, Undo, VERSION};
pub use file::{Journal, boot_id};
pub use outcome::{Outcome, RestoreReport, Restored};
pub use restore::recover;
pub(crate) use restore::undo_all;
