//! From the text of a study to its trials: the language, the plan on a machine, and other hosts that take part.

// Used only within this workspace: an item whose name and type say everything needs no comment.
#![allow(missing_docs)]

pub mod claims;
pub mod hosts;
pub mod language;
pub mod plan;
