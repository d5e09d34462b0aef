//! MariaDB: a private instance of the installed server, without configuration files and without network.

pub(super) mod arguments;
pub(super) mod binary;
mod diagnostics;
pub(super) mod dialect;
mod entry;
pub(super) mod explain;
pub(super) mod install;
mod kind;
pub(super) mod layout;
mod names;
pub(super) mod option_file;
pub(super) mod options;
pub(super) mod own;
pub(super) mod server;
pub(super) mod session;

pub use entry::Mariadb;
pub(super) use kind::{Kind, MadeBy};
