//! Which of many candidates is the best, by racing: all run once in every block, and those that are shown to be worse
//! than another are dropped, until one is left or the rest lies within the minimum effect of it.
//!
//! Elimination after Paulson (Annals of Mathematical Statistics 35, 1964) and Kim & Nelson (ACM TOMACS 11, 2001), with
//! their triangular boundary replaced by looks. The value of a trial is y = ln(metric), turned so that larger is
//! better:
//!
//! ```text
//! y = block + candidate + error       one variance for all candidates, of all residuals so far
//! U(i, j) = mean(y_i - y_j) + t(1 - w(n) alpha / M(k), df) * sqrt((v_i + v_j) / n)
//! ```
//!
//! with n blocks ([`LOOKS`]), k candidates, w(n) = min(n, 5) / 5, and v the common variance; M(k) is as many
//! independent bounds as all of them count: among k equals the best is dropped at any look with chance alpha. A
//! candidate is worse than another by the k at the start; for being close only those count that are not shown to be
//! worse by then: no other can be named. A candidate whose spread is shown to be larger (F, p < 0.01) has its own, with
//! its own degrees of freedom. At a look a candidate i is dropped when U(i, j) < 0 for some j (worse), for good, or
//! U(i, w) is at most the minimum effect (close), where w is the one that is ahead then; where another is ahead at a
//! later look, i is compared with that one again. The race is decided when w alone is left. Unless one of the bounds of
//! the best candidate fails, which equals make most likely, it is never worse, so it is w or close to w: the named one
//! is more than the minimum effect behind the best with a chance of at most alpha.
//!
//! Where candidates of a block shared a server, y has the luck of the server too, and v is that of trials of one server
//! or of several, by what i and j had (`fit`).
//!
//! U is taken of the trials that nothing disturbed and of those that something did, apart and each with its own v:
//! what something else does to one candidate alone is in neither, and bursts that meet any of them do not widen the
//! first. The narrower one counts. Where a sign test shows that i was disturbed alone more often than j, as
//! `sequential` asks it of two sides, U is infinite: its other trials may have lost some time too.
//!
//! | file | holds |
//! | --- | --- |
//! | `rows` | the blocks, with the servers that served them |
//! | `even` | what two candidates differ by where nothing disturbed one of them alone |
//! | `fit` | the model and its variances |
//! | `stratum` | the variance around rows and candidates |
//! | `judge` | what the blocks so far say |
//! | `share` | the looks, and the share of the error that each bound has |
//! | `outlook` | how many more blocks and trials it takes |
//! | `worth` | what each factor is worth, from the blocks that every candidate ran in |

mod even;
mod fit;
mod judge;
mod outlook;
mod rows;
mod share;
#[cfg(test)]
mod shared;
#[cfg(test)]
mod simulated;
mod stratum;
mod worth;

pub use judge::{End, Question, Standing, judge};
pub use outlook::{Outlook, outlook};
pub use rows::Blocks;
pub use share::{LOOKS, weight};
pub use worth::{Worth, against, worth};
