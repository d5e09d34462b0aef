//! Finds the first slower commit of a range from noisy pairs, by probabilistic bisection.
//!
//! Builds have positions 0 (good) to `last` (bad). One of the commits 1..=`last` made all builds from its position on
//! slower by the same unknown ratio. Plain bisection halves the remaining range with each answer, so that one wrong
//! answer loses the commit. Here each pair of trials updates the probability of every commit ([`chances()`]). The next
//! pair is the one that splits the probabilities most evenly (Horstein, IEEE Trans. Inf. Theory 9, 1963; Waeber,
//! Frazier & Henderson, SIAM J. Control Optim. 51, 2013). The search ends when one commit has the requested probability
//! ([`next()`]).
//!
//! Horstein's method assumes answers that are correct with a known probability. Pairs carry more information than that:
//! their likelihood under each commit has a closed form in which the size of the step, the standard deviation and the
//! order effect within a pair are unknown. So the evidence from a build without a clear result is used, and no error
//! rate of answers has to be assumed.
//!
//! Most pairs compare a build with the good one: such a pair can split the range anywhere, and all of them estimate the
//! same step. A pair of neighbouring builds is informative only if the step lies between them, so neighbours are paired
//! once one commit has about half of the probability. This follows from the same rule.

mod chances;
mod next;
mod planned;
#[cfg(test)]
mod simulated;

pub use chances::{BuildPair, chances};
pub use next::{Cell, Next, cells, next};
pub use planned::{BATCH, Effort, Planned, effort};
