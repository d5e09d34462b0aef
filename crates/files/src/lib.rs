//! Files that are believed or left behind: private folders, whole writes, and reads that follow no link.
//!
//! | file | holds |
//! | --- | --- |
//! | `crash` | places at which tests end the program as a crash would |
//! | `error` | what can be wrong with a file or folder, and what to do about it |
//! | `owner` | whose a file is, who else could change it, and who is believed; who may do what with new files and folders |
//! | `group` | whether the group of this user has no one else in it |
//! | `walk` | the way to a file, each folder checked by its handle before the next name is taken from it |
//! | `folder` | an open folder of results: all that it holds is found through its handle |
//! | `log` | a log that is opened through the handle of its folder |
//! | `read` | reading a regular file with a limit |
//! | `whole` | writing a file whole or not at all |
//! | `anonymous` | secrets in files without a name, which go with this process |
//! | `private` | folders that only their owner can enter, used by their handle |
//! | `room` | what files take, and whether a file system has room for what is about to be written |
//!
//! The rule: what is found under a name that others could have put there is data, never a decision. State, caches and
//! run folders are [`PrivateFolder`]s; results directories are [`Folder`]s, believed or read as
//! data; files that a user names are read with [`read_named`] and written with [`write_named`].

#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod anonymous;
pub mod crash;
mod error;
mod folder;
#[cfg(test)]
mod folder_tests;
mod group;
mod log;
mod owner;
mod private;
#[cfg(test)]
mod private_tests;
mod read;
mod room;
mod walk;
mod whole;

pub use anonymous::AnonymousFile;
pub use error::{FilesError, Result};
pub use folder::Folder;
pub use log::LogFile;
pub use owner::close_to_others;
pub use owner::{Audience, Trust, owner_of};
pub use private::{Access, PrivateFolder};
pub use read::{open_named, open_regular, read_all, read_named, read_named_file, read_regular};
pub use room::{NoRoom, check_room, disk_bytes};
pub use whole::{append_named, write_named, write_whole, write_whole_with};
