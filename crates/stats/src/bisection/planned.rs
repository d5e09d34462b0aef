//! The effort of a bisection before it begins, from the same rules on simulated pairs.

use super::chances::{BuildPair, chances};
use super::next::{Cell, Next, next};
use crate::error::Error;
use crate::order::{below, generator};
use crate::quantiles::normal;
use crate::sequential::{Pair, Question, Verdict, decide};
use rand_xoshiro::rand_core::Rng;
use std::collections::BTreeMap;

/// Pairs of two builds that are measured before the probabilities are updated: a smaller number needs more builds, a
/// larger one more pairs.
pub const BATCH: usize = 3;
/// Pairs of two builds after which a simulation without a decision takes them as not different.
const MOST_OF_TWO: usize = 200;
/// Pairs after which a simulated search stops without a result.
const MOST: usize = 2000;

/// The parameters of a bisection that is simulated.
#[derive(Debug, Clone)]
pub struct Planned {
    /// Whether each position from 0 can be built.
    pub usable: Vec<bool>,
    /// Size of the step, ln(slower / faster).
    pub step: f64,
    /// Standard deviation of the log ratio of a pair.
    pub sd: f64,
    /// The question and the rule that decide whether the ends differ, and whether the build before the found commit and
    /// that commit do.
    pub question: Question,
    /// Number of pairs per batch.
    pub batch: usize,
    /// The probability at which the search ends.
    pub confidence: f64,
}

/// The effort and the result of a bisection.
#[derive(Debug, Clone, PartialEq)]
pub struct Effort {
    /// Pairs of trials, including those of the two ends and of the step.
    pub pairs: usize,
    /// Builds, including both ends and those that failed.
    pub builds: usize,
    /// The cell that was found; `None` when the ends or the step were not shown to differ, or the search was given up.
    pub found: Option<Cell>,
}

/// Simulates one bisection on pairs with normal errors, with the step at commit `first`.
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
    let ends_differ = is_slower(&planned.question, &mut seen, || draw(0, last))?;
    let (mut usable, mut built) = (vec![true; last + 1], vec![false; last + 1]);
    (built[0], built[last]) = (true, true);
    let mut tried = 2;
    let mut steps: BTreeMap<(usize, usize), bool> = BTreeMap::new();
    let mut found = None;
    while ends_differ && seen.len() < MOST {
        let (cell, [a, b]) = match next(&chances(last, &seen)?, &usable, &built, planned.confidence) {
            Next::Pairs { a, b } => (None, [a, b]),
            Next::Found(cell) => {
                let around = [cell.commits.start() - 1, *cell.commits.end()];
                (Some(cell), around)
            }
        };
        if let (Some(cell), Some(is_slower)) = (&cell, steps.get(&(a, b))) {
            found = Some(cell.clone()).filter(|_| *is_slower);
            break;
        }
        for place in [a, b] {
            tried += usize::from(usable[place] && !built[place]);
            (usable[place], built[place]) = (planned.usable[place], planned.usable[place]);
        }
        if built[a] && built[b] {
            if cell.is_some() {
                steps.insert((a, b), is_slower(&planned.question, &mut seen, || draw(a, b))?);
            } else {
                seen.extend((0..planned.batch).map(|_| draw(a, b)));
            }
        }
    }
    Ok(Effort { pairs: seen.len(), builds: tried, found })
}

/// Adds pairs of two builds until it is decided whether B is slower.
fn is_slower(
    question: &Question,
    seen: &mut Vec<BuildPair>,
    mut draw: impl FnMut() -> BuildPair,
) -> Result<bool, Error> {
    let mut own: Vec<Pair> = Vec::new();
    loop {
        let drawn = draw();
        own.push(drawn.pair);
        seen.push(drawn);
        let over = question.rule.most_pairs().unwrap_or(MOST_OF_TWO) == own.len();
        let found = decide(&own, question, over)?;
        if over || found.verdict != Verdict::Undecided {
            return Ok(found.verdict == Verdict::Changed && found.ratio.is_some_and(|ratio| ratio > 1.0));
        }
    }
}
