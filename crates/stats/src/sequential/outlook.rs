//! The smallest change that the pairs can detect, and the number of pairs still needed.

use super::fit::Fit;
use super::rule::{Question, Rule};
use crate::plan::POWER;
use crate::quantiles::{chi_squared, normal, t};

/// One-sided confidence of the upper limit of the standard deviation.
const CONFIDENCE: f64 = 0.95;
/// Maximum number of pairs that is reported.
const MOST: usize = 1 << 20;

/// The sensitivity of an undecided comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlook {
    /// The smallest change, as a fraction, that these pairs detect with 80% power at their standard deviation; `None`
    /// when they are too few to detect any.
    pub smallest_detectable: Option<f64>,
    /// More pairs until the interval, with the same standard deviation and estimate, excludes 1 or lies within the
    /// minimum effect; `None` beyond a million.
    pub pairs_to_go: Option<usize>,
    /// Upper limit of the pairs needed, at 95% confidence: with the upper limit of the standard deviation, 80% power,
    /// and an effect half-way between 0 and the minimum effect, where the question is hardest.
    pub pairs_to_go_at_most: Option<usize>,
}

/// The outlook from a fit. `None` when the pairs do not vary at all.
pub fn outlook(fit: &Fit, question: &Question) -> Option<Outlook> {
    if fit.sd.is_nan() || fit.sd <= 0.0 {
        return None;
    }
    let half = |pairs: usize, sd: f64| question.rule.half_width(&expected(fit, pairs, sd), question.alpha);
    let seen = question.rule.half_width(fit, question.alpha) + t(POWER, fit.df) * fit.standard_error();
    let effect = question.minimum_effect.ln_1p();
    // To be decided, the change must be shown to differ from 0 or to be within the minimum effect, whichever is easier.
    let room = fit.mean.abs().max(effect - fit.mean.abs());
    let upper = fit.sd * (fit.df / chi_squared(1.0 - CONFIDENCE, fit.df)).sqrt();
    let is_shown = |pairs: usize| fit.mean.abs() < effect / 2.0 || pairs >= question.rule.fewest_pairs();
    let needed = fewest(fit.pairs, |pairs| half(pairs, fit.sd) <= room && is_shown(pairs));
    let at_most =
        fewest(fit.pairs, |pairs| half(pairs, upper) + normal(POWER) * upper / (pairs as f64).sqrt() <= effect / 2.0);
    let more = |needed: usize| needed - fit.pairs;
    Some(Outlook {
        smallest_detectable: (seen.is_finite() && fit.pairs >= question.rule.fewest_pairs()).then(|| seen.exp_m1()),
        pairs_to_go: needed.map(more),
        pairs_to_go_at_most: at_most.map(more),
    })
}

/// The smallest change, as a fraction, that a comparison of this many pairs detects with 80% power at the standard
/// deviation of this fit, by the rule for that many pairs with an overall error of `alpha`. `None` when so few pairs
/// have no interval.
pub fn resolution(fit: &Fit, pairs: usize, alpha: f64) -> Option<f64> {
    let rule = Rule::within(Some(pairs as f64));
    let used = rule.most_pairs().map_or(pairs, |most| pairs.min(most));
    let terms = (fit.pairs as f64 - fit.df).max(0.0) as usize;
    if used < rule.fewest_pairs().max(terms + 1) {
        return None;
    }
    let then = expected(fit, used, fit.sd);
    let seen = rule.half_width(&then, alpha) + t(POWER, then.df) * then.standard_error();
    seen.is_finite().then(|| seen.exp_m1())
}

/// The expected fit of this many pairs, with each side first in half of them.
fn expected(fit: &Fit, pairs: usize, sd: f64) -> Fit {
    let terms = fit.pairs as f64 - fit.df;
    Fit { sd, pairs, weight: pairs as f64, df: (pairs as f64 - terms).max(1.0), ..*fit }
}

/// The smallest number of pairs above `made` for which `holds` is true; it must stay true for larger numbers.
fn fewest(made: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    let mut high = made + 1;
    while !holds(high) {
        if high > MOST {
            return None;
        }
        high *= 2;
    }
    let mut low = made;
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        if holds(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(mean: f64, sd: f64, pairs: usize) -> Fit {
        let n = pairs as f64;
        Fit { mean, place: Some(0.0), sd, pairs, weight: n, df: n - 2.0 }
    }

    #[test]
    fn pairs_to_go_are_those_after_which_the_interval_fits() {
        for rule in [Rule::Looks, Rule::Anytime] {
            let question = Question { minimum_effect: 0.02, alpha: 0.05, rule };
            let now = fit(0.001, 0.03, 18);
            let found = outlook(&now, &question).unwrap();
            let go = found.pairs_to_go.unwrap();
            let room = 0.02_f64.ln_1p() - 0.001;
            let half = |pairs: usize| rule.half_width(&fit(0.001, 0.03, pairs), 0.05);
            assert!(half(18 + go) <= room && half(18 + go - 1) > room, "{rule:?} {found:?}");
            assert!(found.pairs_to_go_at_most.unwrap() > go, "{found:?}");
        }
    }

    #[test]
    fn the_smallest_change_is_seen_at_the_stated_power() {
        let question = Question { minimum_effect: 0.02, alpha: 0.05, rule: Rule::Looks };
        let found = outlook(&fit(0.0, 0.01, 400), &question).unwrap().smallest_detectable.unwrap();
        // With many pairs: (2.468 + 0.842) sd / sqrt(n), the normal quantiles at 0.9932 and 0.8.
        assert!((found.ln_1p() - (2.468 + 0.842) * 0.01 / 20.0).abs() < 2e-5, "{found}");
        assert_eq!(outlook(&fit(0.0, 0.0, 9), &question), None);
    }

    #[test]
    fn a_longer_budget_resolves_less_and_changes_to_the_rule_that_can_use_it() {
        let now = fit(0.0, 0.01, 200);
        let seen = |pairs: usize| resolution(&now, pairs, 0.05);
        assert_eq!(seen(5), None);
        // At most the last look: 18 pairs at p 0.0136 with 16 degrees of freedom, t quantiles 2.772 and 0.865.
        assert!((seen(18).unwrap().ln_1p() - (2.772 + 0.865) * 0.01 / 18.0_f64.sqrt()).abs() < 1e-5);
        assert_eq!(seen(18), seen(24));
        // More pairs never detect less, and the rule changes where the other one becomes better.
        let process = |pairs: usize| {
            let then = fit(0.0, 0.01, pairs);
            Rule::Anytime.half_width(&then, 0.05) + t(POWER, then.df) * then.standard_error()
        };
        assert!(process(24).exp_m1() > seen(24).unwrap() && seen(25) < seen(24) && seen(200) < seen(25));
    }
}
