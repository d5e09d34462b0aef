//! A sampled profile of the server, taken with `perf`: hardware cycles if available, otherwise the CPU clock.

mod fold;
mod frames;
mod recording;

pub(super) use frames::{KERNEL, frame, function, samples};
pub(super) use recording::Profile;
