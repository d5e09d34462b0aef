//! The reference weight: what a few milliseconds of known work take, here and now.

mod chain;
mod read;
mod wakeup;

pub use read::{Probe, Reading, Seats};
