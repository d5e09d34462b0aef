//! Published claims as data, and the studies that test them.
//!
//! | file | holds |
//! | --- | --- |
//! | `table` | the claims that come with the program; what of it a machine can do, and in how much time |
//! | `narrow` | an experiment as a study: only the conditions that its claims need |

mod narrow;
mod table;

pub use narrow::{NarrowError, narrow};
pub use table::{all, chosen};
pub use table::{cannot, missing};
