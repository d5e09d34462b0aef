//! From a study's text to trials: its language, its plan on a machine, and the other hosts that take part.

pub mod claims;
pub mod hosts;
pub mod language;
pub mod plan;
