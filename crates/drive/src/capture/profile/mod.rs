//! A sampled profile of the server, by the `perf` tool: hardware cycles where there are any, the CPU clock where not.

mod fold;
mod frames;
mod perf;

pub(super) use perf::{Control, Profile, end, not_started, refused};
