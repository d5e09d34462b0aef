//! Reproduction of published claims: the figure with its interval, compared with the range that was fixed beforehand.
//!
//! | file | holds |
//! | --- | --- |
//! | `model` | a verdict, as a value |
//! | `measured` | the figure of a claim, from trial records |
//! | `judge` | the verdict on a figure |

mod judge;
mod measured;
mod model;

pub use judge::of_results;
pub use model::{Again, Claimed, Figure, Open, Reproduced, Why};
