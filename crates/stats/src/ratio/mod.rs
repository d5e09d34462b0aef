//! Whether B is faster than A: the ratio of two means with its interval, and a verdict against a minimum effect of
//! interest.
//!
//! Arguments are trial means (see [`crate::Trials::means`]); ratios are B / A. When the means are not both positive,
//! the difference B - A is used: a change from -5.4 to -4.2 is an increase, but its ratio is below 1.

mod difference;
mod fieller;
mod machines;
mod paired;
mod rounding;
mod verdict;

pub use difference::{Design, Shift, shift};
pub(crate) use fieller::fewer;
pub use fieller::{fieller, paired};
pub use machines::{Basis, Levelled, by_machine};
pub use paired::by_block;
pub use rounding::Rounding;
pub use verdict::{Arms, Better, Comparison, Effect, Verdict, compare};
