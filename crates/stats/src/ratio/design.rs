//! What two arms share.

/// How the trials of two arms came about, which says what they share.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Design<'a> {
    /// Nothing in common, and no order known.
    #[default]
    Independent,
    /// Trial i of A and trial i of B ran in the same block: what the block did to both is taken out.
    Blocks,
    /// Two runs, one after the other. The variance of each arm's mean is this much larger than its spread says, for the
    /// trials of a run resemble each other; see [`crate::serial::RunOrder::inflation`].
    Apart([f64; 2]),
    /// A probe stood alongside each trial, and what it explains is taken out: see [`crate::control`].
    Probed {
        /// Of A and of B, one for each trial.
        probes: [&'a [f64]; 2],
        /// What they share besides.
        trials: &'a Design<'a>,
    },
}
