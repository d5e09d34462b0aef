//! A study that several machines run, each a shard of its blocks, and the merge of their parts.
//!
//! | file | holds |
//! | --- | --- |
//! | `layout` | the folder that the machines share |
//! | `parts` | what was run, part by part, and the part that each block is taken from |
//! | `read` | all parts as one set of results, even if incomplete |
//! | `merge` | one results directory made from them |

mod layout;
mod merge;
#[cfg(test)]
mod merge_tests;
mod parts;

pub use layout::{Sharded, TakenShard};
pub(crate) use merge::read;
pub use merge::{Merged, aside_words, merge};
pub use parts::{ShardState, finished_blocks, repair, states};
