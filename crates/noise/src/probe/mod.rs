//! Probes: time a few milliseconds of known work, to measure how fast the machine is at this moment.

mod chain;
mod read;
mod wakeup;

pub use read::{Probe, ProbeCpus, Reading};
