//! A level that every machine and process setting has.

/// The level of a machine or process setting that means: leave it, but record it.
pub const AS_FOUND: &str = "as-found";
