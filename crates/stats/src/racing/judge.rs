//! What the blocks so far say.

use super::even::{Even, ratio};
use super::fit::Difference;
use super::rows::Blocks;
use super::share::{LOOKS, share};
use crate::error::{Error, all_positive, valid_confidence};
use crate::interval::Estimate;

/// Blocks in which a candidate that is left may have no value before it is given up, where it has no more values.
const MOST_MISSING: usize = 2;

/// What is asked of a race.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question {
    /// The smallest difference of interest, as a fraction.
    pub minimum_effect: f64,
    /// Chance that the named candidate is not within it of the best.
    pub alpha: f64,
}

/// How a candidate's race ended before the others'.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It was shown to be worse than another, after so many blocks.
    Worse(usize),
    /// After so many blocks it was shown to be better than the one ahead by less than the minimum effect, if at all.
    Close(usize),
    /// It gave no value too often, after so many blocks.
    Lost(usize),
}

/// What the blocks so far say.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// By candidate: how its race ended; none where it is left.
    pub ended: Vec<Option<End>>,
    /// The candidate that was ahead at the last look; none without a value.
    pub leader: Option<usize>,
    /// Whether it is the one to be named.
    pub decided: bool,
    /// By candidate: candidate / leader of the metric turned so that above 1 is better, over the blocks that they
    /// share, with the interval that holds for all looks and candidates together.
    pub ratios: Vec<Option<Estimate>>,
    /// By candidate: whether something disturbed it alone more often than the leader alone.
    pub disturbed_alone: Vec<bool>,
    /// The ratio at most of the best to the leader, where the best is none of those that something disturbed alone or
    /// that gave no value: shown with the confidence of the race. None where one of the others has no bound.
    pub behind: Option<f64>,
    /// Standard deviation of one trial around the model, in log units: of those that nothing disturbed, where it is
    /// known.
    pub sd: Option<f64>,
    /// Blocks that were judged.
    pub blocks: usize,
}

impl Standing {
    /// Candidates that are left.
    pub fn left(&self) -> Vec<usize> {
        (0..self.ended.len()).filter(|i| self.ended[*i].is_none()).collect()
    }
}

struct Look<'a> {
    even: Even<'a>,
    blocks: usize,
    alpha: f64,
}

impl<'a> Look<'a> {
    fn of(so_far: Blocks<'a>, candidates: usize, question: &Question) -> Option<Self> {
        let even = Even::of(so_far, candidates);
        even.variance().map(|_| Self { even, blocks: so_far.values.len(), alpha: question.alpha })
    }

    /// How much better than j candidate i may be: one of the bounds of so many candidates.
    fn bound(&self, i: usize, j: usize, candidates: usize) -> f64 {
        let share = share(candidates, self.blocks, self.alpha);
        if i == j { 0.0 } else { self.even.difference(i, j).map_or(f64::INFINITY, |found| found.ends(share).1) }
    }
}

/// Whether a look is taken after so many blocks.
fn is_looked_at(blocks: usize, last: bool) -> bool {
    LOOKS.contains(&blocks) || (last && (LOOKS[0]..LOOKS[LOOKS.len() - 1]).contains(&blocks))
}

/// What blocks in their order say. `last`: no further block will follow, so that one of the looks that are left is
/// taken now.
///
/// # Errors
/// [`Error::NotFinite`] for a value that is not, [`Error::Mismatch`] for a block of another number of candidates,
/// [`Error::NotPositive`] for a minimum effect that is not, [`Error::OutOfRange`] for an alpha outside (0, 1).
pub fn judge(all: Blocks<'_>, candidates: usize, question: &Question, last: bool) -> Result<Standing, Error> {
    let blocks = all.values;
    all_positive("minimum effect", &[question.minimum_effect])?;
    valid_confidence(question.alpha)?;
    let lengths = all.disturbed.iter().map(Vec::len).chain(all.servers.iter().map(Vec::len));
    if let Some(got) = lengths.into_iter().find(|length| *length != candidates) {
        return Err(Error::Mismatch { what: "marks or servers of a block".into(), expected: candidates, got });
    }
    for block in blocks {
        if block.len() != candidates {
            return Err(Error::Mismatch { what: "values of a block".into(), expected: candidates, got: block.len() });
        }
        crate::error::all_finite("values of a block", &block.iter().flatten().copied().collect::<Vec<_>>())?;
    }
    let mut standing = Standing {
        ended: vec![None; candidates],
        leader: None,
        decided: false,
        ratios: vec![None; candidates],
        disturbed_alone: vec![false; candidates],
        behind: None,
        sd: None,
        blocks: blocks.len(),
    };
    let mut missing = vec![[0_usize; 2]; candidates];
    for count in 1..=blocks.len() {
        let so_far = all.until(count);
        lose(&mut standing, &blocks[count - 1], &mut missing, count);
        let looked = is_looked_at(count, last && count == blocks.len());
        let Some(look) = looked.then(|| Look::of(so_far, candidates, question)).flatten() else { continue };
        // What was close to another that was ahead is compared with the one that is ahead now.
        let back = |end: &mut Option<End>| *end = end.filter(|end| !matches!(end, End::Close(_)));
        standing.ended.iter_mut().for_each(back);
        drop_worse(&mut standing, &look);
        standing.leader = ahead(&standing, so_far, Some(&look.even));
        drop_close(&mut standing, &look, question.minimum_effect.ln_1p());
        standing.decided = standing.leader.is_some() && standing.left().len() == 1;
    }
    standing.leader = standing.leader.or_else(|| ahead(&standing, all, None));
    compare_with_leader(&mut standing, all, question);
    Ok(standing)
}

/// Gives up those that have no value too often.
fn lose(standing: &mut Standing, block: &[Option<f64>], seen: &mut [[usize; 2]], count: usize) {
    for i in standing.left() {
        seen[i][usize::from(block[i].is_some())] += 1;
        let [missing, values] = seen[i];
        if missing >= MOST_MISSING && missing >= values {
            standing.ended[i] = Some(End::Lost(count));
        }
    }
}

fn drop_worse(standing: &mut Standing, look: &Look<'_>) {
    let left = standing.left();
    let candidates = standing.ended.len();
    let worse = |i: &usize| left.iter().any(|j| j != i && look.bound(*i, *j, candidates) < 0.0);
    for i in left.iter().copied().filter(worse).collect::<Vec<_>>() {
        standing.ended[i] = Some(End::Worse(look.blocks));
    }
}

fn drop_close(standing: &mut Standing, look: &Look<'_>, effect: f64) {
    let Some(leader) = standing.leader else { return };
    // What is shown to be worse cannot be named: only the others' bounds can fail.
    let left = standing.left();
    for i in left.iter().copied() {
        if i != leader && look.bound(i, leader, left.len()) <= effect {
            standing.ended[i] = Some(End::Close(look.blocks));
        }
    }
}

/// The candidate that is left and behind no other by more than any other is.
fn ahead(standing: &Standing, blocks: Blocks<'_>, even: Option<&Even<'_>>) -> Option<usize> {
    let left = standing.left();
    let of_even = |i: usize, j: usize| even?.difference(i, j).map(|found| found.mean);
    let of_all = |i: usize, j: usize| Difference::of(blocks.rows(), i, j).map_or(0.0, |of| of.mean);
    let mean = |i: usize, j: usize| of_even(i, j).unwrap_or_else(|| of_all(i, j));
    let behind = |w: usize| left.iter().filter(|i| **i != w).map(|i| mean(*i, w)).fold(f64::NEG_INFINITY, f64::max);
    let has_value = |i: &usize| blocks.values.iter().any(|block| block[*i].is_some());
    left.iter().copied().filter(has_value).min_by(|a, b| behind(*a).total_cmp(&behind(*b)).then(a.cmp(b)))
}

fn compare_with_leader(standing: &mut Standing, blocks: Blocks<'_>, question: &Question) {
    let (Some(leader), candidates) = (standing.leader, standing.ended.len()) else { return };
    let even = Even::of(blocks, candidates);
    let share = share(candidates, blocks.values.len(), question.alpha);
    standing.sd = even.variance().map(f64::sqrt);
    for i in (0..candidates).filter(|i| *i != leader) {
        standing.ratios[i] = ratio(&even, [i, leader], share);
        standing.disturbed_alone[i] = even.is_one_sided(i, leader);
    }
    let look = Look { even, blocks: blocks.values.len(), alpha: question.alpha };
    standing.behind = behind(standing, &look, leader);
}

/// How far at most the leader is behind the best of those that nothing disturbed alone. One that is shown to be worse
/// than another of them is not the best of them.
fn behind(standing: &Standing, look: &Look<'_>, leader: usize) -> Option<f64> {
    let candidates = standing.ended.len();
    let is_even = |i: &usize| !standing.disturbed_alone[*i] && !matches!(standing.ended[*i], Some(End::Lost(_)));
    let even: Vec<usize> = (0..candidates).filter(is_even).collect();
    let is_worse = |i: &usize| even.iter().any(|j| j != i && look.bound(*i, *j, candidates) < 0.0);
    let bounds = even.iter().filter(|i| !is_worse(i)).map(|i| look.bound(*i, leader, candidates));
    bounds.max_by(f64::total_cmp).map(f64::exp).filter(|ratio| ratio.is_finite() && look.blocks >= LOOKS[0])
}
