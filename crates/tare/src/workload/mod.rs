//! What the client threads do.

pub mod counters;
pub mod dbt3;
mod dialect;
pub mod oltp;

pub use dialect::Dialect;
