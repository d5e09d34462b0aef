//! Published claims as data, and the studies that test them.
//!
//! | file | holds |
//! | --- | --- |
//! | `table` | the claims that come with the program |
//! | `narrow` | an experiment as a study: only the conditions that its claims need |
//! | `here` | what of it a machine can do, and in how much time |

mod here;
mod narrow;
mod table;

pub use here::{cannot, missing};
pub use narrow::{NarrowError, narrow};
pub use table::{all, chosen};
