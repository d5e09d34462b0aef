//! The blocks and trials that a race still needs, if means and variances stay as they are.

use super::even::{Compared, Even};
use super::judge::{End, Question, Standing};
use super::rows::Blocks;
use super::share::share;

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
