//! MariaDB: a private instance of the installed server, without configuration files and network.

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
mod own;
pub(crate) mod server;

pub(crate) use kind::{Kind, MadeBy, OfKind};
pub use own::Mariadb;
