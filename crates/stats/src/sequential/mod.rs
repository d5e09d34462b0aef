//! Is B different from A, asked after every pair: a paired comparison that stops when it is settled, with a stated
//! chance of a false alarm.
//!
//! A pair is two neighbouring trials, one of each side, of which a fair draw says which runs first. Its value is
//! d = ln(B / A). Three rules for when to stop are here, each fixed before the first pair ([`Rule`]):
//!
//! - [`Rule::Looks`]: a paired t at 4, 6, 9, 13 and 18 pairs, each at a nominal p of 0.0136, which together are at most
//!   5% (repeated significance tests at a constant nominal level after Pocock, Biometrika 64, 1977), and a change only
//!   where the draw of the order does not explain it: of trials of any shape, in few pairs, t alone claims one in 9%.
//! - [`Rule::Anytime`]: the t-process with a Gaussian mixture (Lai, Annals of Statistics 4, 1976; Wang & Ramdas,
//!   arXiv 2310.03722), which may be looked at after every pair, without end.
//! - [`Rule::Sessions`]: a t over sessions, one value each, once, after a number of them that was fixed.
//!
//! The place within a pair (first or second) moves figures by itself. It is a term of the model ([`Fit::of`]): with
//! place x = +1/2 where B ran second and -1/2 where it ran first, d = delta + phi x + error.
//!
//! | file | holds |
//! | --- | --- |
//! | `fit` | the model, its estimates and the interval of the place's effect |
//! | `draw` | what the draw of the order alone makes of pairs |
//! | `rule` | the half-width of the interval of delta under each rule |
//! | `verdict` | what the pairs so far say |
//! | `comparisons` | how often a rule is wrong in pairs of one side against itself |
//! | `disturbed` | whether trials that something else disturbed may be what sets the sides apart |
//! | `outlook` | what could have been seen, and how many more pairs it takes |

mod comparisons;
mod disturbed;
mod draw;
mod fit;
mod outlook;
mod rule;
#[cfg(test)]
mod simulated;
mod verdict;

pub use comparisons::{Comparison, comparisons};
pub use disturbed::is_one_sided;
pub use fit::{Fit, Pair};
pub use outlook::{Outlook, outlook, resolution};
pub use rule::{FEWEST_PAIRS, LOOKS, NOMINAL_P, Question, Rule, evidence};
pub use verdict::{FEWEST_SESSIONS, Finding, Verdict, decide, decide_sessions};
