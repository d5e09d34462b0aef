//! Whether B differs from A: a sequential paired comparison that stops when the question is decided, with a stated type
//! I error.
//!
//! A pair is two successive trials, one of each side, in random order ([`orders`]). Its value is d = ln(B / A). The
//! stopping rule is one of three and is fixed before the first pair ([`Rule`]):
//!
//! - [`Rule::Looks`]: a paired t test at 4, 6, 9, 13 and 18 pairs, each at a nominal p of 0.0136, which together have a
//!   type I error of at most 5% (repeated significance tests at a constant nominal level after Pocock, Biometrika 64,
//!   1977). A change also requires that the randomisation test of the order is significant: with few pairs and trials
//!   of any distribution, the t test alone reports a false change in 9%.
//! - [`Rule::Anytime`]: the t-process with a Gaussian mixture (Lai, Annals of Statistics 4, 1976; Wang & Ramdas, arXiv
//!   2310.03722), which is valid after every pair, without limit.
//! - [`Rule::Sessions`]: one t test over sessions, with one value each, after a fixed number of sessions.
//!
//! The position within a pair (first or second) itself affects values. This order effect is a term of the model
//! ([`Fit::of`]): with x = +1/2 where B ran second and -1/2 where it ran first, d = delta + phi x + error.
//!
//! | file | holds |
//! | --- | --- |
//! | `fit` | the model with its estimates; the order within pairs and its randomisation test |
//! | `rule` | the half-width of the interval of delta under each rule, and the pairs still needed |
//! | `verdict` | the decision, whether disturbed trials may be its cause, and the error rate of a rule |

mod fit;
mod rule;
#[cfg(test)]
mod simulated;
mod verdict;

pub use fit::{Fit, LOOKS, Pair, orders};
pub use rule::{FEWEST_PAIRS, NOMINAL_P, Needed, Outlook, Question, Rule, evidence, outlook, resolution};
pub use verdict::{
    Comparison, FEWEST_SESSIONS, Finding, Verdict, comparisons, decide, decide_once, decide_rounded, decide_sessions,
    fit_rounded, is_one_sided,
};
