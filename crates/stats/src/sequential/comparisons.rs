//! Cuts pairs of one side against itself into comparisons, to measure the error rate of the rules when nothing differs.

use super::fit::Pair;
use super::rule::Question;
use super::verdict::{Verdict, decide};
use crate::error::Error;

/// Pairs after which a comparison by [`super::Rule::Anytime`] counts as undecided.
const MOST_ANYTIME: usize = 60;

/// One comparison from a series of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparison {
    /// Number of pairs that it took.
    pub pairs: usize,
    /// The decision of its last look; undecided after the last possible look.
    pub verdict: Verdict,
}

/// The successive comparisons that a question's rule makes of pairs: each begins with the pair after the last one of
/// the comparison before, so that no pair is shared. A last comparison without a decision is left out.
///
/// # Errors
/// As [`decide`].
pub fn comparisons(pairs: &[Pair], question: &Question) -> Result<Vec<Comparison>, Error> {
    let most = question.rule.most_pairs().unwrap_or(MOST_ANYTIME);
    let mut rest = pairs;
    let mut found = Vec::new();
    while let Some(comparison) = first(rest, question, most)? {
        found.push(comparison);
        rest = &rest[comparison.pairs..];
    }
    Ok(found)
}

fn first(pairs: &[Pair], question: &Question, most: usize) -> Result<Option<Comparison>, Error> {
    for n in 1..=most.min(pairs.len()) {
        let verdict = decide(&pairs[..n], question, false)?.verdict;
        if verdict != Verdict::Undecided || n == most {
            return Ok(Some(Comparison { pairs: n, verdict }));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::super::Rule;
    use super::*;

    #[test]
    fn comparisons_share_no_pair_and_an_open_one_is_none() {
        let question = Question { minimum_effect: 0.02, alpha: 0.05, rule: Rule::Looks };
        // Equal within 2% at the first look, then 10% apart at a second look, then two pairs without a decision.
        let values = [0.001, -0.001, 0.0005, -0.0005, 0.100, 0.101, 0.099, 0.1005, 0.1, 0.099, 0.0, 0.001];
        let pairs: Vec<Pair> =
            values.iter().enumerate().map(|(i, d)| Pair { log_ratio: *d, b_first: i % 2 == 0 }).collect();
        let found = comparisons(&pairs, &question).unwrap();
        let expected =
            [(4, Verdict::Equivalent), (6, Verdict::Changed)].map(|(pairs, verdict)| Comparison { pairs, verdict });
        assert_eq!(found, expected);
    }

    #[test]
    fn one_that_never_settles_ends_with_its_last_look() {
        let question = Question { minimum_effect: 1e-6, alpha: 0.05, rule: Rule::Looks };
        let pairs: Vec<Pair> =
            (0..40).map(|i| Pair { log_ratio: f64::from(i % 4) - 1.5, b_first: i % 3 == 0 }).collect();
        let found = comparisons(&pairs, &question).unwrap();
        assert_eq!(found, [Comparison { pairs: 18, verdict: Verdict::Undecided }; 2]);
    }
}
