//! Prepared data: the cache, working copies, and directories that belong to one server.

pub(crate) mod cache;
pub(crate) mod directories;
pub(crate) mod tree;
pub(crate) mod working;
