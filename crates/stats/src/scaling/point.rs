//! What the law is fitted to.

/// One rung of the ladder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Threads or nodes of this rung.
    pub n: f64,
    /// Throughput, the mean of its trials.
    pub x: f64,
}
