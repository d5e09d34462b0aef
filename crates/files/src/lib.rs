//! Files that are believed or left behind: private folders, whole writes, and reads that follow no link.
//!
//! | file | holds |
//! | --- | --- |
//! | `crash` | places at which tests end the program as a crash would |
//! | `error` | what can be wrong with a file or folder, and what to do about it |
//! | `owner` | whose a file is, and who else could change it |
//! | `read` | reading a regular file with a limit |
//! | `whole` | writing a file whole or not at all |
//! | `anonymous` | secrets in files without a name, which go with this process |
//! | `private` | folders that only their owner can enter, used by their handle |
//! | `room` | whether a file system has room for what is about to be written |
//!
//! The rule: what is found under a name that others could have put there is data, never a decision. State, caches and
//! run folders are [`PrivateFolder`]s; results directories are read with [`read_regular`] and written with
//! [`write_whole`].

mod anonymous;
pub mod crash;
mod error;
mod owner;
mod private;
#[cfg(test)]
mod private_tests;
mod read;
mod room;
mod whole;

pub use anonymous::AnonymousFile;
pub use error::{FilesError, Result};
pub use owner::{check_ours, owner_of};
pub use private::{Access, PrivateFolder};
pub use read::{open_regular, read_beneath, read_named, read_regular};
pub use room::{NoRoom, check_room};
pub use whole::{open_append, open_new_log, write_whole, write_whole_with};
