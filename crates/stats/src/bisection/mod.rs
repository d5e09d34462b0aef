//! Which commit of a line is the first slower one, from noisy pairs: probabilistic bisection.
//!
//! Builds stand in places 0 (good) to `last` (bad). One of the commits 1..=`last` made every build from it on slower by
//! the same unknown ratio. Plain bisection halves what is left by each answer, and one wrong answer loses the commit.
//! Here every pair of trials moves the chance of every commit ([`chances()`]), the next pair is the one that splits
//! them most evenly (Horstein, IEEE Trans. Inf. Theory 9, 1963; Waeber, Frazier & Henderson, SIAM J. Control Optim.
//! 51, 2013), and it ends when one commit has the chance that was requested ([`next()`]).
//!
//! Horstein's answers are right with a known probability. Pairs say more than such answers do: their likelihood under
//! each commit, with the size of the step, the spread and the effect of the place in a pair unknown, is a closed form,
//! so that what an unsettled build showed is kept and nothing has to be assumed of how often an answer is wrong.
//!
//! Mostly a build is paired with the good one: that splits the line anywhere, and all pairs estimate one step. Two
//! neighbours say something only if the step lies between them, so they are paired once one commit has about half of
//! all chance. That comes out of the same rule.

mod chances;
mod next;
mod planned;
#[cfg(test)]
mod simulated;

pub use chances::{BuildPair, chances};
pub use next::{Cell, Next, cells, next};
pub use planned::{BATCH, Effort, Planned, effort};
