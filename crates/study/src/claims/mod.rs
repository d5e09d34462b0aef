//! Published claims as data, and the studies that test them.
//!
//! | file | holds |
//! | --- | --- |
//! | `table` | the claims that come with the program; which of them a machine can test, and in how much time |
//! | `fitted` | fits an experiment to the size of a machine |
//! | `narrow` | turns an experiment into a study with only the conditions that its claims need |

mod fitted;
mod narrow;
mod table;

pub use fitted::fitted;
pub use narrow::{NarrowError, narrow};
pub use table::{all, articles, cannot, chosen, missing, on_engine, too_old};
