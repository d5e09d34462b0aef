//! The working copy of prepared data: every trial gets the prepared content, and only the differences are written.
//!
//! | file | holds |
//! | --- | --- |
//! | `tree` | the files of a directory, with the metadata that shows whether one was changed; a note of that metadata from the last time the copy was equal, and when the note is valid |
//! | `put_back` | makes one file equal to another: shares the blocks, or writes those that differ |
//! | `copy` | the copy itself: locked, restored, removed |

mod copy;
mod put_back;
mod tree;

pub(crate) use tree::{Stamp, keeps_times};

pub use copy::{WorkingCopy, remove_working_copies};
