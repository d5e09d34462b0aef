//! The decision from the pairs so far.

use super::draw;
use super::fit::{Fit, Pair};
use super::outlook::{Outlook, outlook};
use super::rule::{Question, Rule};
use crate::error::{Error, all_positive, valid_confidence};
use crate::interval::Interval;

/// Fewest sessions for a verdict that generalises to other sessions: with fewer, the variance between sessions is not
/// known.
pub const FEWEST_SESSIONS: usize = 5;

/// The decision from the pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The interval excludes 1, and is not within the minimum effect.
    Changed,
    /// The interval lies within the minimum effect.
    Equivalent,
    /// Neither of the two is shown.
    Undecided,
}

/// The estimates and the decision from the pairs so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finding {
    /// The estimates; `None` as long as sides and order effect cannot be separated.
    pub fit: Option<Fit>,
    /// B / A of the geometric means.
    pub ratio: Option<f64>,
    /// Interval of B / A, valid over all looks; `None` when there are too few pairs for one.
    pub ci: Option<Interval>,
    /// The decision of this look. Between two looks of [`super::Rule::Looks`] nothing is decided.
    pub verdict: Verdict,
    /// The smallest detectable change, and the pairs still needed.
    pub outlook: Option<Outlook>,
}

/// Judges the pairs, in the order in which they ran. `last` says that no further pair will follow.
///
/// # Errors
/// [`Error::NotFinite`] for a log ratio that is not finite, [`Error::NotPositive`] for a minimum effect that is not
/// positive, [`Error::OutOfRange`] for an alpha outside (0, 1).
pub fn decide(pairs: &[Pair], question: &Question, last: bool) -> Result<Finding, Error> {
    let fit = Fit::of(pairs)?;
    // A t-process keeps its error without this test: to exceed its limit, few pairs of any distribution must be too far
    // apart.
    let is_by_draw = || question.rule == Rule::Looks && draw::share(pairs).is_some_and(|share| share > draw::LIMIT);
    judge(fit, question, question.rule.looks_at(pairs.len(), last), is_by_draw)
}

/// Judges pairs once, by one t interval, at a moment that they do not determine themselves: those of a control when its
/// comparison is decided.
///
/// # Errors
/// As [`decide`].
pub fn decide_once(pairs: &[Pair], minimum_effect: f64, alpha: f64) -> Result<Finding, Error> {
    judge(Fit::of(pairs)?, &Question { minimum_effect, alpha, rule: Rule::Sessions }, true, || false)
}

/// Judges sessions, each by its pairs. `last` says that all planned sessions are over.
///
/// The value of a session is the mean of its pairs without the order effect, so effects that its pairs share (boot,
/// files, copy of the data) count once. A session in which the same side was first in all pairs has no value.
///
/// # Errors
/// As [`decide`].
pub fn decide_sessions(sessions: &[Vec<Pair>], question: &Question, last: bool) -> Result<Finding, Error> {
    let fits = sessions.iter().map(|pairs| Fit::of(pairs)).collect::<Result<Vec<_>, _>>()?;
    let values: Vec<f64> = fits.into_iter().flatten().map(|fit| fit.mean).collect();
    let fit = Fit::without_place(&values)?;
    judge(fit, question, question.rule.looks_at(values.len(), last) && values.len() >= FEWEST_SESSIONS, || false)
}

/// `is_by_draw` says whether the randomisation test explains the difference by the order of the pairs.
fn judge(
    fit: Option<Fit>,
    question: &Question,
    looks: bool,
    is_by_draw: impl FnOnce() -> bool,
) -> Result<Finding, Error> {
    all_positive("minimum effect", &[question.minimum_effect])?;
    valid_confidence(question.alpha)?;
    let Some(fit) = fit else {
        return Ok(Finding { fit: None, ratio: None, ci: None, verdict: Verdict::Undecided, outlook: None });
    };
    let own = question.rule.half_width(&fit, question.alpha);
    // The interval includes no difference as long as the order of the pairs may explain it.
    let half = if fit.mean.abs() > own && is_by_draw() { fit.mean.abs() } else { own };
    let verdict = if looks { verdict(fit.mean, half, question.minimum_effect.ln_1p()) } else { Verdict::Undecided };
    Ok(Finding {
        fit: Some(fit),
        ratio: Some(fit.mean.exp()),
        ci: Interval::finite((fit.mean - half).exp(), (fit.mean + half).exp()),
        verdict,
        outlook: outlook(&fit, question),
    })
}

/// A change that is shown to be smaller than the smallest of interest does not count as a change.
pub(super) fn verdict(mean: f64, half: f64, effect: f64) -> Verdict {
    if mean.abs() + half <= effect {
        Verdict::Equivalent
    } else if mean.abs() > half {
        Verdict::Changed
    } else {
        Verdict::Undecided
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(values: &[f64]) -> Vec<Pair> {
        values.iter().enumerate().map(|(i, d)| Pair { log_ratio: *d, b_first: i % 3 == 0 }).collect()
    }

    const QUESTION: Question = Question { minimum_effect: 0.02, alpha: 0.05, rule: Rule::Looks };

    #[test]
    fn nothing_is_decided_between_two_looks() {
        let clear = [0.101, 0.099, 0.100, 0.1005, 0.0995, 0.1, 0.099];
        assert_eq!(decide(&pairs(&clear), &QUESTION, false).unwrap().verdict, Verdict::Undecided);
        let last = decide(&pairs(&clear), &QUESTION, true).unwrap();
        assert_eq!(last.verdict, Verdict::Changed);
        let [ratio, low, high] = [last.ratio, last.ci.map(|ci| ci.low), last.ci.map(|ci| ci.high)].map(Option::unwrap);
        assert!(low < ratio && (ratio / low - high / ratio).abs() < 1e-12, "{last:?}");
        assert_eq!(decide(&pairs(&clear[..6]), &QUESTION, false).unwrap().verdict, Verdict::Changed);
    }

    #[test]
    fn what_the_draw_of_four_pairs_explains_is_no_change_and_the_interval_says_so() {
        let four = decide(&pairs(&[0.101, 0.099, 0.100, 0.1005]), &QUESTION, false).unwrap();
        assert_eq!((four.verdict, four.ci.unwrap().low), (Verdict::Undecided, 1.0));
    }

    #[test]
    fn sessions_decide_from_five_on_once_all_are_over() {
        let question = Question { rule: Rule::Sessions, ..QUESTION };
        let of = |n: usize, last: bool| {
            let session = |i: usize| pairs(&[0.1, 0.101, 0.099].map(|d| d + 0.001 * i as f64));
            let sessions: Vec<Vec<Pair>> = (0..n).map(session).collect();
            decide_sessions(&sessions, &question, last).unwrap().verdict
        };
        let expected = [Verdict::Undecided, Verdict::Undecided, Verdict::Changed];
        assert_eq!([of(4, true), of(5, false), of(5, true)], expected);
    }

    #[test]
    fn a_change_shown_to_be_too_small_is_none() {
        assert_eq!(verdict(0.004, 0.001, 0.02), Verdict::Equivalent);
        assert_eq!(verdict(0.015, 0.010, 0.02), Verdict::Changed);
        assert_eq!(verdict(-0.015, 0.010, 0.02), Verdict::Changed);
        assert_eq!(verdict(0.010, 0.011, 0.02), Verdict::Undecided);
    }

    #[test]
    fn an_invalid_minimum_effect_or_error_rate_is_refused() {
        let requested =
            |minimum_effect, alpha| decide(&[], &Question { minimum_effect, alpha, rule: Rule::Anytime }, false);
        assert!(requested(0.0, 0.05).is_err() && requested(0.02, 1.0).is_err());
        assert_eq!(requested(0.02, 0.05).unwrap().verdict, Verdict::Undecided);
    }
}
