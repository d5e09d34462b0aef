//! The decision from the pairs so far, whether disturbed trials may be its cause, and how often it is wrong.

use super::fit::{self, Fit, Pair};
use super::rule::{Outlook, Question, Rule, outlook};
use crate::counts::Count;
use crate::error::{Error, all_positive, valid_confidence};
use crate::interval::Interval;
use crate::ratio::Rounding;

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
    decide_rounded(pairs, question, Rounding::default(), last)
}

/// Judges pairs of rounded values; `hidden` is what rounding hides of the log ratio of a pair.
///
/// # Errors
/// As [`decide`].
pub fn decide_rounded(pairs: &[Pair], question: &Question, hidden: Rounding, last: bool) -> Result<Finding, Error> {
    let fit = fit_rounded(pairs, hidden)?;
    // A t-process keeps its error without this test: to exceed its limit, few pairs of any distribution must be too far
    // apart.
    let is_by_draw =
        || question.rule == Rule::Looks && fit::share_of_orders(pairs).is_some_and(|share| share > fit::LIMIT);
    judge(fit, question, hidden.slack, question.rule.looks_at(pairs.len(), last), is_by_draw)
}

/// Judges pairs once, by one t interval, at a moment that they do not determine themselves: those of a control when its
/// comparison is decided. `hidden` as of [`decide_rounded`].
///
/// # Errors
/// As [`decide`].
pub fn decide_once(pairs: &[Pair], minimum_effect: f64, hidden: Rounding, alpha: f64) -> Result<Finding, Error> {
    let question = Question { minimum_effect, alpha, rule: Rule::Sessions };
    judge(fit_rounded(pairs, hidden)?, &question, hidden.slack, true, || false)
}

/// The estimates from pairs of rounded values: pairs that are all equal by rounding are no certainty.
///
/// # Errors
/// [`Error::NotFinite`] for a log ratio that is not finite.
pub fn fit_rounded(pairs: &[Pair], hidden: Rounding) -> Result<Option<Fit>, Error> {
    Ok(Fit::of(pairs)?.map(|fit| Fit { sd: fit.sd.max(hidden.error), ..fit }))
}

/// Judges sessions, each by its pairs. `last` says that all planned sessions are over.
///
/// The value of a session is the mean of its pairs without the order effect, so effects that its pairs share (boot,
/// files, copy of the data) count once. A session in which the same side was first in all pairs has no value.
///
/// # Errors
/// As [`decide`].
pub fn decide_sessions(
    sessions: &[Vec<Pair>],
    question: &Question,
    hidden: Rounding,
    last: bool,
) -> Result<Finding, Error> {
    let fits = sessions.iter().map(|pairs| Fit::of(pairs)).collect::<Result<Vec<_>, _>>()?;
    let values: Vec<f64> = fits.into_iter().flatten().map(|fit| fit.mean).collect();
    let fit = Fit::without_place(&values)?;
    let looks = question.rule.looks_at(values.len(), last) && values.len() >= FEWEST_SESSIONS;
    judge(fit, question, hidden.slack, looks, || false)
}

/// `slack` is by how much rounding may have moved the mean; `is_by_draw` says whether the randomisation test explains
/// the difference by the order of the pairs.
fn judge(
    fit: Option<Fit>,
    question: &Question,
    slack: f64,
    looks: bool,
    is_by_draw: impl FnOnce() -> bool,
) -> Result<Finding, Error> {
    all_positive("minimum effect", &[question.minimum_effect])?;
    valid_confidence(question.alpha)?;
    let Some(fit) = fit else {
        return Ok(Finding { fit: None, ratio: None, ci: None, verdict: Verdict::Undecided, outlook: None });
    };
    let own = question.rule.half_width(&fit, question.alpha) + slack;
    // The interval includes no difference as long as the order of the pairs may explain it.
    let half = if fit.mean.abs() > own && is_by_draw() { fit.mean.abs() } else { own };
    let verdict = if looks { verdict(fit.mean, half, question.minimum_effect.ln_1p()) } else { Verdict::Undecided };
    Ok(Finding {
        fit: Some(fit),
        ratio: Some(fit.mean.exp()),
        ci: Interval::finite((fit.mean - half).exp(), (fit.mean + half).exp()),
        verdict,
        outlook: outlook(&fit, question, slack),
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

/// Significance level at which the slower side counts as disturbed more often: three pairs against none, five against
/// one, seven against two. At half this level two steady disturbances in five lead to a false change in 7%; at twice
/// this level no more are found.
const LIMIT: f64 = 1.0 / 8.0;

/// Whether a side was disturbed significantly more often than the other: the one-sided sign test of the pairs in which
/// it alone was disturbed and of those in which the other alone was. A disturbance that does not depend on the side
/// affects both equally often, because the order is random.
pub fn is_one_sided(own: usize, other: usize) -> bool {
    // Values that differ by rounding are equal.
    Count { hits: own, of: own + other }.by_coin() <= LIMIT + 1e-9
}

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
/// the comparison before, so that no pair is shared. A last comparison without a decision is left out. `hidden` as of
/// [`decide_rounded`].
///
/// # Errors
/// As [`decide`].
pub fn comparisons(pairs: &[Pair], question: &Question, hidden: Rounding) -> Result<Vec<Comparison>, Error> {
    let most = question.rule.most_pairs().unwrap_or(MOST_ANYTIME);
    let mut rest = pairs;
    let mut found = Vec::new();
    while let Some(comparison) = first(rest, question, hidden, most)? {
        found.push(comparison);
        rest = &rest[comparison.pairs..];
    }
    Ok(found)
}

fn first(pairs: &[Pair], question: &Question, hidden: Rounding, most: usize) -> Result<Option<Comparison>, Error> {
    for n in 1..=most.min(pairs.len()) {
        let verdict = decide_rounded(&pairs[..n], question, hidden, false)?.verdict;
        if verdict != Verdict::Undecided || n == most {
            return Ok(Some(Comparison { pairs: n, verdict }));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequential::Rule;

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
            decide_sessions(&sessions, &question, Rounding::default(), last).unwrap().verdict
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

    #[test]
    fn one_sided_disturbance_is_a_sign_test_at_one_in_eight() {
        let fewest = |other: usize| (0..100).find(|own| is_one_sided(*own, other));
        // By the binomial: 1/8, 7/64, 46/512 (6 against 2: 37/256), 176/2048 (8 against 3: 232/2048).
        assert_eq!([0, 1, 2, 3].map(fewest), [Some(3), Some(5), Some(7), Some(8)]);
        assert!(!is_one_sided(0, 0) && !is_one_sided(0, 9));
    }

    #[test]
    fn comparisons_share_no_pair_and_an_open_one_is_none() {
        let question = Question { minimum_effect: 0.02, alpha: 0.05, rule: Rule::Looks };
        // Equal within 2% at the first look, then 10% apart at a second look, then two pairs without a decision.
        let values = [0.001, -0.001, 0.0005, -0.0005, 0.100, 0.101, 0.099, 0.1005, 0.1, 0.099, 0.0, 0.001];
        let pairs: Vec<Pair> =
            values.iter().enumerate().map(|(i, d)| Pair { log_ratio: *d, b_first: i % 2 == 0 }).collect();
        let found = comparisons(&pairs, &question, Rounding::default()).unwrap();
        let expected =
            [(4, Verdict::Equivalent), (6, Verdict::Changed)].map(|(pairs, verdict)| Comparison { pairs, verdict });
        assert_eq!(found, expected);
    }

    #[test]
    fn one_that_never_settles_ends_with_its_last_look() {
        let question = Question { minimum_effect: 1e-6, alpha: 0.05, rule: Rule::Looks };
        let pairs: Vec<Pair> =
            (0..40).map(|i| Pair { log_ratio: f64::from(i % 4) - 1.5, b_first: i % 3 == 0 }).collect();
        let found = comparisons(&pairs, &question, Rounding::default()).unwrap();
        assert_eq!(found, [Comparison { pairs: 18, verdict: Verdict::Undecided }; 2]);
    }
}
