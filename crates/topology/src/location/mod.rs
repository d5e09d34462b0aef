//! Location expressions, which select CPUs in hwloc-calc's notation.

mod model;
mod parse;
mod resolve;

pub use model::{Index, Location, ObjectKind, Step, Term};
pub use parse::LocationError;
pub(crate) use resolve::usable;
