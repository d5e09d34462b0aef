//! The bytes between a client and a server, and limits on their number and duration.

pub(crate) mod buffer;
pub(crate) mod pieces;
pub(crate) mod session;
pub(crate) mod socket;
pub(crate) mod spin;
pub(crate) mod stream;
