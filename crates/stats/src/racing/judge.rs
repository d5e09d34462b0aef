//! The standing of a race after the blocks so far: its looks, the share of the error that each limit has, and the
//! blocks and trials that are still needed.

use super::even::{Compared, Even, ratio};
use super::fit::{Blocks, Difference};
use crate::error::{Error, all_positive, valid_confidence};
use crate::interval::Estimate;

/// Numbers of blocks after which there is a look.
pub const LOOKS: [usize; 18] = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 18, 21, 25, 30, 35, 41];
/// From this many blocks on a look has the full share. Earlier looks have a share in proportion to their blocks,
/// because only large differences are decided there.
const FULL: usize = 5;
/// The error for which [`TESTS`] was computed.
const ALPHA: f64 = 0.05;
/// Numbers of candidates, and the effective number of independent limits for each. With the error divided by that
/// number, the best of that many equal candidates is dropped at any look in 5% of races (`benches/find shares`, 12,000
/// races each; 4% are added for the simulation error).
const TESTS: [(usize, f64); 13] = [
    (2, 6.8),
    (3, 12.5),
    (4, 18.2),
    (6, 30.7),
    (8, 45.8),
    (12, 63.2),
    (16, 87.7),
    (24, 119.0),
    (32, 158.0),
    (48, 221.0),
    (64, 299.0),
    (96, 458.0),
    (128, 563.0),
];

/// The looks of a race, by their numbers of blocks. `early` are looks that took place although none was due, because
/// the time was over: each takes the place of the next one, so that their number, and with it the error, stays the
/// same.
pub(super) fn looks(early: &[usize]) -> [usize; LOOKS.len()] {
    let mut looks = LOOKS;
    for blocks in early.iter().filter(|blocks| **blocks >= LOOKS[0]) {
        if let Some(next) = looks.iter_mut().find(|look| **look >= *blocks) {
            *next = *blocks;
        }
    }
    looks
}

/// The fraction of the full share that the look after this many blocks has.
pub fn weight(blocks: usize) -> f64 {
    blocks.min(FULL) as f64 / FULL as f64
}

/// The error that one limit of the look after this many blocks may have.
pub(super) fn share(candidates: usize, blocks: usize, alpha: f64) -> f64 {
    alpha / tests(candidates, alpha) * weight(blocks)
}

/// The effective number for the next larger number of candidates in the table. For errors below 5%, and for more
/// candidates than were simulated, the Bonferroni bound; for errors above 5% the value at 5% is conservative.
fn tests(candidates: usize, alpha: f64) -> f64 {
    let simulated = TESTS.iter().find(|(known, _)| *known >= candidates).filter(|_| alpha >= ALPHA);
    let all: f64 = LOOKS.iter().map(|blocks| weight(*blocks)).sum();
    simulated.map_or(all * candidates.saturating_sub(1).max(1) as f64, |(_, tests)| *tests)
}

/// Missing values after which a remaining candidate is lost, unless it has more values than missing ones.
const MOST_MISSING: usize = 2;

/// The question that a race answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question {
    /// The smallest difference of interest, as a fraction.
    pub minimum_effect: f64,
    /// Probability that the named candidate is not within the minimum effect of the best (type I error).
    pub alpha: f64,
}

/// Why a candidate left the race.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It was shown to be worse than another one, after this many blocks.
    Worse(usize),
    /// After this many blocks it was shown to be at most the minimum effect better than the leader.
    Close(usize),
    /// Too many of its values were missing, after this many blocks.
    Lost(usize),
}

/// The standing of a race after the blocks so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// By candidate: why it left the race; `None` while it remains.
    pub ended: Vec<Option<End>>,
    /// The leader at the last look; `None` without values.
    pub leader: Option<usize>,
    /// Whether the race is decided and the leader is its result.
    pub decided: bool,
    /// By candidate: candidate / leader of the metric, oriented so that above 1 is better, over the blocks that they
    /// share, with an interval that is simultaneous over all looks and candidates.
    pub ratios: Vec<Option<Estimate>>,
    /// By candidate: whether it was disturbed alone more often than the leader alone.
    pub disturbed_alone: Vec<bool>,
    /// By candidate: whether attempts of it alone are shown to fail more often than those of the leader alone; of the
    /// leader, than those of another candidate that remains. Its other trials may be a selection of the fast ones.
    pub fails_more: Vec<bool>,
    /// Upper limit, at the confidence of the race, of the ratio of the best candidate to the leader. Candidates that
    /// were disturbed alone or are lost are not considered. `None` when one of the others has no limit.
    pub behind: Option<f64>,
    /// Residual standard deviation of one trial, in log units, from undisturbed trials where possible.
    pub sd: Option<f64>,
    /// Number of blocks that were judged.
    pub blocks: usize,
    /// Numbers of blocks after which there is a look, in ascending order.
    pub looks: [usize; LOOKS.len()],
}

impl Standing {
    /// The candidates that remain.
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

    /// Upper limit of how much better candidate i is than j, as one of the limits of this many candidates.
    fn bound(&self, i: usize, j: usize, candidates: usize) -> f64 {
        let share = share(candidates, self.blocks, self.alpha);
        if i == j { 0.0 } else { self.even.difference(i, j).map_or(f64::INFINITY, |found| found.ends(share).1) }
    }
}

/// Judges a race from its blocks, in order. `early` are the numbers of blocks, in ascending order, after which its time
/// was over, so that the next look was taken then.
///
/// # Errors
/// [`Error::NotFinite`] for a value that is not finite, [`Error::Mismatch`] for a block with another number of
/// candidates, [`Error::NotPositive`] for a minimum effect that is not positive, [`Error::OutOfRange`] for an alpha
/// outside (0, 1).
pub fn judge(all: Blocks<'_>, candidates: usize, question: &Question, early: &[usize]) -> Result<Standing, Error> {
    let blocks = all.values;
    all_positive("minimum effect", &[question.minimum_effect])?;
    valid_confidence(question.alpha)?;
    let marks = all.disturbed.iter().chain(all.failed).map(Vec::len);
    let lengths = marks.chain(all.servers.iter().map(Vec::len));
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
        fails_more: vec![false; candidates],
        behind: None,
        sd: None,
        blocks: blocks.len(),
        looks: looks(early),
    };
    let mut missing = vec![[0_usize; 2]; candidates];
    for count in 1..=blocks.len() {
        let so_far = all.until(count);
        lose(&mut standing, &blocks[count - 1], &mut missing, count);
        let looked = standing.looks.contains(&count);
        let Some(look) = looked.then(|| Look::of(so_far, candidates, question)).flatten() else {
            // Without a second candidate with values there is no variance, and nothing to compare.
            if looked && standing.left().len() == 1 {
                standing.leader = ahead(&standing, so_far, None);
                standing.decided = standing.leader.is_some();
            }
            continue;
        };
        // Candidates that were close to an earlier leader are compared with the current one.
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

/// Removes candidates with too many missing values.
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
    // A candidate that is shown to be worse cannot be named, so only the limits of the others can fail.
    let left = standing.left();
    for i in left.iter().copied() {
        if i != leader && look.bound(i, leader, left.len()) <= effect {
            standing.ended[i] = Some(End::Close(look.blocks));
        }
    }
}

/// The remaining candidate whose largest deficit to any other is the smallest.
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
        standing.fails_more[i] = even.fails_more(i, leader);
    }
    standing.fails_more[leader] = standing.left().into_iter().any(|i| i != leader && even.fails_more(leader, i));
    let look = Look { even, blocks: blocks.values.len(), alpha: question.alpha };
    standing.behind = behind(standing, &look, leader);
}

/// Upper limit of how far the leader is behind the best of the candidates that were not disturbed alone. A candidate
/// that is shown to be worse than another of these is not the best.
fn behind(standing: &Standing, look: &Look<'_>, leader: usize) -> Option<f64> {
    let candidates = standing.ended.len();
    let is_even = |i: &usize| !standing.disturbed_alone[*i] && !matches!(standing.ended[*i], Some(End::Lost(_)));
    let even: Vec<usize> = (0..candidates).filter(is_even).collect();
    let is_worse = |i: &usize| even.iter().any(|j| j != i && look.bound(*i, *j, candidates) < 0.0);
    let bounds = even.iter().filter(|i| !is_worse(i)).map(|i| look.bound(*i, leader, candidates));
    bounds.max_by(f64::total_cmp).map(f64::exp).filter(|ratio| ratio.is_finite() && look.blocks >= LOOKS[0])
}

/// The effort to decide a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlook {
    /// Blocks to go, in which only the remaining candidates run.
    pub blocks: usize,
    /// Trials in these blocks; the number of candidates falls from look to look.
    pub trials: usize,
}

/// The expected effort: 0 if the race is decided, `None` if the remaining looks will not decide it or the variance is
/// not known yet.
pub fn outlook(so_far: Blocks<'_>, question: &Question, standing: &Standing) -> Option<Outlook> {
    if standing.decided {
        return Some(Outlook { blocks: 0, trials: 0 });
    }
    let (candidates, blocks) = (standing.ended.len(), so_far.values.len());
    let even = Even::of(so_far, candidates);
    let leader = standing.leader?;
    let mut left = standing.left();
    let is_able = |end: &&Option<End>| matches!(end, None | Some(End::Close(_)));
    let mut able = standing.ended.iter().filter(is_able).count();
    let mut trials = 0;
    for count in blocks + 1..=standing.looks[standing.looks.len() - 1] {
        trials += left.len();
        if !standing.looks.contains(&count) {
            continue;
        }
        let bound = |i: usize, j: usize, of: usize| {
            let Some(known) = even.difference(i, j) else { return f64::INFINITY };
            // Assumes that the same share of the coming blocks is usable as of those in which both ran so far.
            let more = (count - blocks) as f64 / even.ran(i, j).max(1) as f64;
            let then = Compared { standard_error: known.standard_error / (1.0 + more).sqrt(), ..known };
            then.ends(share(of, count, question.alpha)).1
        };
        let worse = |i: usize| left.iter().any(|j| *j != i && bound(i, *j, candidates) < 0.0);
        let better: Vec<usize> = left.iter().copied().filter(|i| !worse(*i)).collect();
        able -= left.len() - better.len();
        let close = |i: usize| i != leader && bound(i, leader, able) <= question.minimum_effect.ln_1p();
        left = better.into_iter().filter(|i| !close(*i)).collect();
        if left.len() <= 1 {
            return Some(Outlook { blocks: count - blocks, trials });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_that_is_early_takes_the_place_of_the_next_one() {
        assert_eq!([&[][..], &[1], &[2], &[11, 13, 41], &[42]].map(looks), [LOOKS; 5]);
        let expected = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 18, 21, 25, 30, 35, 36];
        assert_eq!([&[12, 14, 36][..], &[12, 12, 14, 36, 40]].map(looks), [expected; 2]);
    }

    #[test]
    fn the_only_candidate_with_results_is_the_result() {
        let question = Question { minimum_effect: 0.02, alpha: 0.05 };
        let blocks = vec![vec![Some(1.0), None, None]; 2];
        let found = judge(Blocks::of(&blocks), 3, &question, &[]).unwrap();
        assert!(found.decided && found.leader == Some(0), "{found:?}");
        let found = judge(Blocks::of(&blocks[..1]), 3, &question, &[]).unwrap();
        assert!(!found.decided, "others may have results in the next block");
    }

    #[test]
    fn shares_are_of_the_next_number_of_candidates_and_else_bonferronis() {
        let is = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-12, "{found} {expected}");
        for (candidates, tests) in [(2, 6.8), (7, 45.8), (8, 45.8), (9, 63.2), (128, 563.0)] {
            is(share(candidates, 5, 0.05), 0.05 / tests);
        }
        is(share(8, 2, 0.05), 0.4 * 0.05 / 45.8);
        // Weights of 0.4, 0.6 and 0.8, then 15 looks of 1, for each of the other candidates.
        is(share(8, 41, 0.04), 0.04 / (16.8 * 7.0));
        is(share(129, 41, 0.05), 0.05 / (16.8 * 128.0));
    }
}
