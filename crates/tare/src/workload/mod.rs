//! What the client threads do.

pub mod counters;
pub mod oltp;
