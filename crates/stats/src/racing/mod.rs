//! Finds the best of many candidates by racing: in every block all remaining candidates run once, and those that are
//! shown to be worse than another are dropped, until one remains or the rest is within the minimum effect of it.
//!
//! Elimination after Paulson (Annals of Mathematical Statistics 35, 1964) and Kim & Nelson (ACM TOMACS 11, 2001), with
//! looks in place of their triangular boundary. The value of a trial is y = ln(metric), oriented so that larger is
//! better:
//!
//! ```text
//! y = block + candidate + error    one variance for all candidates, from all residuals so far
//! U(i, j) = mean(y_i - y_j) + t(1 - w(n) alpha / M(k), df) * sqrt((v_i + v_j) / n)
//! ```
//!
//! with n blocks ([`LOOKS`]), k candidates, w(n) = min(n, 5) / 5, and v the common variance. M(k) is the effective
//! number of independent limits: among k equal candidates the best is dropped at any look with probability alpha. A
//! candidate whose variance is shown to be larger (F, p < 0.01) uses its own, with its own degrees of freedom.
//!
//! At a look a candidate i is dropped for good when U(i, j) < 0 for some j (worse). It is dropped as close when U(i, w)
//! is at most the minimum effect, where w is the leader at that look; if another candidate leads at a later look, i is
//! compared with that one again. For "worse", k is the number of candidates at the start; for "close", only candidates
//! that are not yet shown to be worse count, because no other can be named. The race is decided when only w remains.
//!
//! Unless one of the limits of the best candidate fails, which is most likely among equal candidates, the best one is
//! never worse, so it is w or close to w. The named candidate is therefore more than the minimum effect behind the best
//! with a probability of at most alpha.
//!
//! When candidates of a block shared a server, y also contains the random effect of the server, and v is that of trials
//! of one server or of several, according to the blocks of i and j (`fit`).
//!
//! U is computed separately from undisturbed and from disturbed trials, each with its own v. Disturbances of one
//! candidate alone are in neither, and bursts that affect any candidate do not widen the first. The smaller U is used.
//! If a sign test shows that i was disturbed alone more often than j, as in `sequential` for two sides, U is infinite:
//! the other trials of i may have lost time too. U(i, j) is also infinite if j failed alone more often than i, by the
//! same test: the other trials of j may be a selection of the fast ones. In fewer than six blocks, too few for a change
//! of two sides, one failure more is enough.
//!
//! | file | holds |
//! | --- | --- |
//! | `fit` | the blocks with the servers of their trials, and the model with its variances |
//! | `even` | differences of two candidates without one-sided disturbances, and the effect of each factor |
//! | `judge` | the looks with the error that each limit has, the standing, and the trials still needed |

mod even;
#[cfg(test)]
mod failing;
mod fit;
mod judge;
#[cfg(test)]
mod shared;
#[cfg(test)]
mod simulated;

pub use even::{Worth, against, worth};
pub use fit::Blocks;
pub use judge::{End, LOOKS, Outlook, Question, Standing, judge, outlook, weight};
