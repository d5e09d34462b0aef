//! Server programs: finding, distinguishing and querying them.

pub(crate) mod ask;
pub(crate) mod content;
pub(crate) mod program;
