//! Is B faster than A: the ratio of two means with its interval, and a verdict against a minimum effect of interest.
//!
//! Arguments are trial means (see [`crate::Trials::means`]); ratios are B / A.

mod fieller;
mod paired;
mod verdict;

pub use fieller::{fieller, paired};
pub use paired::by_block;
pub use verdict::{Arms, Better, Comparison, Design, Verdict, compare};
