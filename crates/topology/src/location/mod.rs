//! Location expressions, which select CPUs in hwloc-calc's notation.

mod model;
mod parse;
mod resolve;

pub use model::Location;
pub(crate) use model::{Index, ObjectKind, Step, Term};
pub use parse::LocationError;
pub(crate) use resolve::usable;
