//! How many more blocks and trials a race takes, if means and spread stay as they are.

use super::fit::{Difference, Fit};
use super::judge::{End, Question, Standing};
use super::rows::Blocks;
use super::share::{LOOKS, share};

/// What it would take to decide a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlook {
    /// Blocks to go, each of the candidates that are left by then.
    pub blocks: usize,
    /// Trials in them, of fewer candidates each time.
    pub trials: usize,
}

/// What it would take; nothing more where it is decided, none where the looks that are left do not decide it, or
/// nothing is known of the spread yet.
pub fn outlook(blocks: Blocks<'_>, question: &Question, standing: &Standing) -> Option<Outlook> {
    if standing.decided {
        return Some(Outlook { blocks: 0, trials: 0 });
    }
    let candidates = standing.ended.len();
    let (fit, ran) = (Fit::of(blocks.rows(), candidates)?, blocks.values.len());
    let leader = standing.leader?;
    let mut left = standing.left();
    let is_able = |end: &&Option<End>| matches!(end, None | Some(End::Close(_)));
    let mut able = standing.ended.iter().filter(is_able).count();
    let mut trials = 0;
    for count in ran + 1..=LOOKS[LOOKS.len() - 1] {
        trials += left.len();
        if !LOOKS.contains(&count) {
            continue;
        }
        let bound = |i: usize, j: usize, of: usize| {
            let Some(now) = Difference::of(blocks.rows(), i, j) else { return f64::INFINITY };
            now.mean + fit.half_width(i, j, now.with_blocks(count - ran), share(of, count, question.alpha))
        };
        let worse = |i: usize| left.iter().any(|j| *j != i && bound(i, *j, candidates) < 0.0);
        let better: Vec<usize> = left.iter().copied().filter(|i| !worse(*i)).collect();
        able -= left.len() - better.len();
        let close = |i: usize| i != leader && bound(i, leader, able) <= question.minimum_effect.ln_1p();
        left = better.into_iter().filter(|i| !close(*i)).collect();
        if left.len() <= 1 {
            return Some(Outlook { blocks: count - ran, trials });
        }
    }
    None
}
