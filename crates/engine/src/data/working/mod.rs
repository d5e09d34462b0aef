//! The one working copy of prepared data: every trial gets the prepared content, and only what differs is written.
//!
//! | file | holds |
//! | --- | --- |
//! | `tree` | the files of a directory, with what tells that one was changed |
//! | `put_back` | one file made equal to another: blocks shared, or those written that differ |
//! | `note` | what the files were when the copy was last equal, and when that may be believed |
//! | `copy` | the copy itself: taken, brought back, removed |

mod copy;
mod note;
mod put_back;
mod tree;

pub(crate) use note::keeps_times;
pub(crate) use tree::Stamp;

pub use copy::{CopyMethod, Restored, WorkingCopy, remove_working_copies};
