//! Safe access to files: private folders, atomic writes, and reads that follow no symbolic link.
//!
//! A file is *trusted* if no other user than root could have changed it or put it in its place. The content of any
//! other file is only data: no decision of the program depends on it.
//!
//! - State, caches and run folders are [`PrivateFolder`]s.
//! - Results directories are [`Folder`]s, opened as trusted or as data ([`Trust`]).
//! - Files that a user names are read with [`read_named`] and written with [`write_named`].
//!
//! | module | contents |
//! | --- | --- |
//! | `crash` | crash points: places where tests end the program as a crash would |
//! | `error` | errors about files and folders, with advice |
//! | `owner` | which owners and permissions are trusted, and those of new files; whether this user is alone in their group |
//! | `walk` | path resolution that checks each folder through its handle before it opens the next name in it |
//! | `folder` | an open folder of results, whose files are opened through its handle |
//! | `log` | a log file that is opened through the handle of its folder, and waiting for locks of such files |
//! | `read` | reading a regular file up to a size limit |
//! | `whole` | writing a file completely or not at all |
//! | `anonymous` | secrets in unnamed files that end with this process |
//! | `private` | folders that only their owner can enter, used through their handle |
//! | `room` | disk usage of files, copies without their holes, and whether a file system has enough free space |

#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod anonymous;
pub mod crash;
mod error;
mod folder;
#[cfg(test)]
mod folder_tests;
mod log;
mod owner;
mod private;
mod read;
mod room;
mod walk;
mod whole;

pub use anonymous::AnonymousFile;
pub use error::{FilesError, Result};
pub use folder::Folder;
pub use log::{LogFile, lock_folder_of, wait_for_lock};
pub use owner::{Audience, Trust, close_to_others, owner_of};
pub use private::{Access, PrivateFolder};
pub use read::{open_named, open_regular, read_all, read_named, read_named_file};
pub use room::{NoRoom, check_room, copy_without_holes, data_ranges, disk_bytes};
pub use whole::{append_named, write_named, write_whole};
