//! Originals on disk before any write, and putting them back.

mod as_found;
mod entry;
mod file;
mod restore;

pub use as_found::{recover_trial, verify_as_found};
pub use entry::Format;
pub(crate) use entry::{Entry, Undo, VERSION};
pub use file::Journal;
pub use restore::{Outcome, RestoreReport, Restored, recover};
pub(crate) use restore::{boot_id, undo_all};
