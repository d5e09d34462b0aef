//! From a study's text to trials: its language, its plan on a machine, and the other hosts that take part.

// Only crates of this workspace use it: where a name and a type say all, no comment does.
#![allow(missing_docs)]

pub mod claims;
pub mod hosts;
pub mod language;
pub mod plan;
