//! What a bisection takes, before it begins: the same rules on simulated pairs.

use super::chances::{BuildPair, chances};
use super::next::{Cell, Next, next};
use crate::error::Error;
use crate::order::{below, generator};
use crate::quantiles::normal;
use crate::sequential::{Pair, Question, Verdict, decide};
use rand_xoshiro::rand_core::Rng;

/// Pairs of two builds that are made before the chances are looked at again: fewer need more builds, more need more
/// pairs.
pub const BATCH: usize = 3;
/// Pairs after which simulated ends that are not told apart stay so.
const MOST_OF_ENDS: usize = 200;
/// Pairs after which a simulated search is given up.
const MOST: usize = 2000;

/// A line on which nothing is measured yet, and how it is gone about.
#[derive(Debug, Clone)]
pub struct Planned {
    /// Whether each place from 0 can be built.
    pub usable: Vec<bool>,
    /// Size of the step, ln(slower / faster).
    pub step: f64,
    /// Standard deviation of the log ratio of a pair.
    pub sd: f64,
    /// What decides whether the ends differ.
    pub question: Question,
    /// Pairs made at a time.
    pub batch: usize,
    /// The chance at which it ends.
    pub confidence: f64,
}

/// What a bisection took, and came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Effort {
    /// Pairs of trials, those of the two ends among them.
    pub pairs: usize,
    /// Builds, both ends and those that failed among them.
    pub builds: usize,
    /// What was found; none where the ends were not shown to differ.
    pub found: Option<Cell>,
}

/// One bisection on pairs with a normal spread, the step at commit `first`.
///
/// # Errors
/// As [`decide`].
pub fn effort(planned: &Planned, first: usize, seed: u64) -> Result<Effort, Error> {
    let last = planned.usable.len() - 1;
    let mut rng = generator(seed);
    let mut draw = |a: usize, b: usize| {
        let uniform = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let error = planned.sd * normal(uniform.clamp(1e-12, 1.0 - 1e-12));
        let slower = f64::from(u8::from(b >= first)) - f64::from(u8::from(a >= first));
        BuildPair { a, b, pair: Pair { log_ratio: slower * planned.step + error, b_first: below(&mut rng, 2) == 1 } }
    };
    let mut seen = Vec::new();
    let mut built = vec![false; last + 1];
    (built[0], built[last]) = (true, true);
    let differ = loop {
        seen.push(draw(0, last));
        let pairs: Vec<Pair> = seen.iter().map(|seen: &BuildPair| seen.pair).collect();
        let over = planned.question.rule.most_pairs().unwrap_or(MOST_OF_ENDS) == seen.len();
        match decide(&pairs, &planned.question, over)? {
            found if found.verdict == Verdict::Changed => break found.ratio.is_some_and(|ratio| ratio > 1.0),
            found if found.verdict == Verdict::Undecided && !over => {}
            _ => break false,
        }
    };
    let mut usable = vec![true; last + 1];
    let mut tried = 2;
    let mut found = None;
    while differ && seen.len() < MOST {
        match next(&chances(last, &seen)?, &usable, &built, planned.confidence) {
            Next::Found(cell) => {
                found = Some(cell);
                break;
            }
            Next::Pairs { a, b } => {
                for place in [a, b] {
                    tried += usize::from(usable[place] && !built[place]);
                    (usable[place], built[place]) = (planned.usable[place], planned.usable[place]);
                }
                if built[a] && built[b] {
                    seen.extend((0..planned.batch).map(|_| draw(a, b)));
                }
            }
        }
    }
    Ok(Effort { pairs: seen.len(), builds: tried, found })
}
