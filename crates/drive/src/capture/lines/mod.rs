//! Cache lines under contention between cores: memory accesses sampled during the capture sample.
//!
//! | file | holds |
//! | --- | --- |
//! | `recording` | `perf mem record`, which chooses the processor's own events, then `perf script` |
//! | `access` | one sampled access, parsed from a line of text; one format for Intel, AMD and Arm |
//! | `shared` | accesses by line, and the lines most often found in another core's cache |

mod access;
mod recording;
mod shared;

pub(super) use recording::Lines;
pub use recording::offered;
