//! A sampled profile of the server, by the `perf` tool: hardware cycles where there are any, the CPU clock where not.

mod control;
mod fold;
mod frames;
mod perf;
mod reason;
mod table;

pub(super) use control::{Control, end};
pub(super) use perf::Profile;
pub(super) use reason::refused;
