//! What the client threads do.

pub mod counters;
pub mod dbt3;
mod fill;
pub mod oltp;
