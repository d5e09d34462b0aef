//! MariaDB: a private instance of the installed server, without configuration files and network.

pub(crate) mod arguments;
pub(crate) mod binary;
mod diagnostics;
pub(crate) mod dialect;
mod entry;
mod kind;
pub(crate) mod options;
pub(crate) mod server;

pub use entry::Mariadb;
pub(crate) use kind::{Kind, MadeBy, OfKind};
