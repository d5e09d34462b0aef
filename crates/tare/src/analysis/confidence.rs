//! How sure intervals and verdicts are.

/// Confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;
