//! MariaDB: a private instance of the installed server, without configuration files and without network.

pub(crate) mod arguments;
pub(crate) mod binary;
mod diagnostics;
pub(crate) mod dialect;
mod entry;
pub(crate) mod explain;
pub(crate) mod install;
mod kind;
pub(crate) mod layout;
pub(crate) mod option_file;
pub(crate) mod options;
pub(crate) mod own;
pub(crate) mod server;
pub(crate) mod session;

pub use entry::Mariadb;
pub(crate) use kind::{Kind, MadeBy};
