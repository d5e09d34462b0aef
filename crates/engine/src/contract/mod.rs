//! What every engine promises, and what it is asked with.

pub(crate) mod address;
pub(crate) mod charset;
pub(crate) mod code;
pub(crate) mod diagnostics;
pub(crate) mod dialect;
pub(crate) mod error;
pub(crate) mod option_file;
pub(crate) mod options;
pub(crate) mod running;
pub(crate) mod server;
pub(crate) mod server_settings;
pub(crate) mod session;
