//! What became of published claims here: the figure with its interval, held against what was written down beforehand.
//!
//! | file | holds |
//! | --- | --- |
//! | `model` | a verdict, as a value |
//! | `measured` | the figure of a claim, from trial records |
//! | `judge` | the verdict on a figure |

mod judge;
mod measured;
mod model;

pub use judge::{judge, of_results};
pub use measured::{conditions_of, measured};
pub use model::{Claimed, Figure, Open, Reproduced, Why};
