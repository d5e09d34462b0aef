//! The one working copy of prepared data: every trial gets the prepared content, and only what differs is written.
//!
//! | file | holds |
//! | --- | --- |
//! | `tree` | the files of a directory, with what tells that one was changed; what the files were when the copy was last equal, and when that may be believed |
//! | `put_back` | one file made equal to another: blocks shared, or those written that differ |
//! | `copy` | the copy itself: taken, brought back, removed |

mod copy;
mod put_back;
mod tree;

pub(crate) use tree::Stamp;
pub(crate) use tree::keeps_times;

pub use copy::{CopyMethod, Restored, WorkingCopy, remove_working_copies};
