//! Is B faster than A: the ratio of two means with its interval, and a verdict against a minimum effect of interest.
//!
//! Arguments are trial means (see [`crate::Trials::means`]); ratios are B / A. Where the means are not both positive it
//! is their difference, B - A: from -5.4 to -4.2 is up, and its ratio below 1.

mod difference;
mod fieller;
mod paired;
mod verdict;

pub use difference::{Design, Shift, shift};
pub(crate) use fieller::fewer;
pub use fieller::{fieller, paired};
pub use paired::by_block;
pub use verdict::{Arms, Better, Comparison, Effect, Verdict, compare};
