//! What the client threads do.

pub mod counters;
pub mod dbt3;
mod dialect;
mod fill;
pub mod oltp;

pub use dialect::Dialect;
