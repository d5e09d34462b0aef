//! Server programs: found, told apart, asked about themselves.

pub(crate) mod ask;
pub(crate) mod content;
pub(crate) mod installed;
pub(crate) mod program;
pub(crate) mod symbols;
