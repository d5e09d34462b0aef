//! Cache lines that cores take from each other: accesses to memory sampled around the capture sample.
//!
//! | file | holds |
//! | --- | --- |
//! | `recording` | `perf mem record`, which chooses the processor's own events, and `perf script` after it |
//! | `access` | one sampled access, from a line of text: the same for Intel, AMD and Arm |
//! | `shared` | accesses by line, and the lines most often found in another core's cache |

mod access;
mod recording;
mod shared;

pub(super) use recording::Lines;
pub use recording::offered;
