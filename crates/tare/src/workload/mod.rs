//! What the client threads do.

pub mod oltp;
