//! The interface of every engine, with its requests and errors.

pub(crate) mod address;
pub(crate) mod diagnostics;
pub(crate) mod dialect;
pub(crate) mod error;
pub(crate) mod option_file;
pub(crate) mod running;
pub(crate) mod server;
pub(crate) mod session;
