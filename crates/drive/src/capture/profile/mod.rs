//! A sampled profile of the server, by the `perf` tool: hardware cycles where there are any, the CPU clock where not.

mod fold;
mod frames;
mod recording;

pub(super) use frames::{KERNEL, frame, function, samples};
pub(super) use recording::Profile;
