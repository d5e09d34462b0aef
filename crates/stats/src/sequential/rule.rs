//! When pairs are looked at, the width of the interval at that look, the smallest change that pairs can detect, and
//! the number of pairs still needed.

use super::fit::{Fit, LOOKS};
use crate::plan::POWER;
use crate::quantiles::{chi_squared, normal, t};

/// Two-sided nominal p of each look. Over all five, together with the randomisation test, the type I error is
/// below 5% for the distributions and drifts in docs/figures.md (`benches/decide`). Without that test it would be up to
/// 10% for two modes or a rare spike, whose standard deviation may be near 0 at the first look, with two degrees of
/// freedom.
pub const NOMINAL_P: f64 = 0.0136;
/// Fewest pairs with which [`Rule::Looks`] reports a change: with fewer the randomisation test cannot be significant.
pub const FEWEST_PAIRS: usize = 6;
/// Weight of the mixture, in pairs: the prior of delta / sd is normal with variance 1 / MIXTURE.
const MIXTURE: f64 = 1.0;

/// A number of pairs that is enough for an interval at any error in use.
const FIRST_AT_MOST: usize = 100;

/// When to look at the pairs, fixed before the first pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Rule {
    /// After [`LOOKS`] pairs, with a paired t test, a change from [`FEWEST_PAIRS`] on; overall error 5%.
    Looks,
    /// After every pair, with a t-process.
    Anytime,
    /// Once, after a number of sessions that is fixed before the first one; each session counts as one value.
    Sessions,
}

/// Up to this many pairs, 18 pairs by looks detect as small a change as all of them by the process: with 80% power 18
/// by looks detect 0.86 standard deviations of a pair, 25 by the process 0.85.
const PAIRS_OF_LOOKS: usize = 24;

impl Rule {
    /// The rule for a comparison within one session that has time for this many pairs; `None` for no limit.
    pub fn within(pairs: Option<f64>) -> Self {
        if pairs.is_some_and(|pairs| pairs <= PAIRS_OF_LOOKS as f64) { Self::Looks } else { Self::Anytime }
    }

    /// Whether there is a look after this many pairs. `last` says that no further pair will follow, so that one of the
    /// remaining looks is taken now.
    pub fn looks_at(self, pairs: usize, last: bool) -> bool {
        match self {
            Self::Looks => LOOKS.contains(&pairs) || (last && pairs < LOOKS[LOOKS.len() - 1]),
            Self::Anytime => true,
            Self::Sessions => last,
        }
    }

    /// Fewest pairs with which a change is reported.
    pub fn fewest_pairs(self) -> usize {
        if self == Self::Looks { FEWEST_PAIRS } else { 0 }
    }

    /// The number of pairs after which nothing more is decided; `None` for no limit.
    pub fn most_pairs(self) -> Option<usize> {
        match self {
            Self::Looks => LOOKS.last().copied(),
            Self::Anytime | Self::Sessions => None,
        }
    }

    /// The fewest pairs that have an interval at an error of `alpha`.
    pub fn first_look(self, alpha: f64) -> usize {
        let carries = |pairs: &usize| {
            let (n, place) = (*pairs as f64, Some(0.0));
            let fit = Fit { mean: 0.0, place, sd: 1.0, pairs: *pairs, weight: n, df: n - 2.0 };
            self.half_width(&fit, alpha).is_finite()
        };
        (3..FIRST_AT_MOST).find(carries).unwrap_or(FIRST_AT_MOST)
    }

    /// Half-width of the interval of delta in log units, at an error of `alpha` over all looks ([`Rule::Looks`]
    /// supports 5% only). Infinite when there are too few pairs for an interval, or fewer than at the first look.
    ///
    /// [`Rule::Anytime`], with r = g / (g + weight), g the weight of the mixture, and nu = df: the set of all delta for
    /// which [`evidence`] stays below 1 / alpha, that is standard error * sqrt(nu (K - 1) / (1 - K r)) with K =
    /// (alpha^2 r)^(-1 / (nu + 1)).
    pub fn half_width(self, fit: &Fit, alpha: f64) -> f64 {
        match self {
            Self::Looks if fit.pairs < LOOKS[0] => f64::INFINITY,
            Self::Looks => fit.half_width(1.0 - NOMINAL_P),
            Self::Anytime => {
                let r = MIXTURE / (MIXTURE + fit.weight);
                let k = (alpha * alpha * r).powf(-1.0 / (fit.df + 1.0));
                if k * r >= 1.0 {
                    return f64::INFINITY;
                }
                (fit.df * (k - 1.0) / (1.0 - k * r)).sqrt() * fit.standard_error()
            }
            Self::Sessions => fit.half_width(1.0 - alpha),
        }
    }
}

/// The question, fixed before the first pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question {
    /// The smallest change of interest as a fraction, for instance 0.02: B between A / (1 + e) and A (1 + e) counts as
    /// equal.
    pub minimum_effect: f64,
    /// Type I error over all looks.
    pub alpha: f64,
    /// The rule that determines when to look.
    pub rule: Rule,
}

/// Evidence against delta = 0, as the value of a bet that is fair if delta is 0 (an e-value): E = sqrt(r) [(1 + r t^2 /
/// nu) / (1 + t^2 / nu)] ^ (-(nu + 1) / 2) with t = delta / standard error. Without an order effect nu + 1 is the
/// number of pairs. The order effect is one more parameter with a flat prior, which takes one degree of freedom and
/// keeps the process fair.
pub fn evidence(fit: &Fit) -> f64 {
    let r = MIXTURE / (MIXTURE + fit.weight);
    let t2 = (fit.mean / fit.standard_error()).powi(2);
    if t2.is_nan() {
        // No variance and no difference.
        return r.sqrt();
    }
    // Without variance the fraction tends to r.
    let fraction = if t2.is_infinite() { r } else { (1.0 + r * t2 / fit.df) / (1.0 + t2 / fit.df) };
    r.sqrt() * fraction.powf(-f64::midpoint(fit.df, 1.0))
}

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
    /// What it takes until the interval, with the same standard deviation and estimate, excludes 1 or lies within the
    /// minimum effect; `None` beyond a million pairs.
    pub needed: Option<Needed>,
    /// Its upper limit at 95% confidence: with the upper limit of the standard deviation, 80% power, and an effect
    /// half-way between 0 and the minimum effect, where the question is hardest.
    pub needed_at_most: Option<Needed>,
}

/// What decides an undecided comparison, in pairs or, over sessions, in sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needed {
    /// This many more.
    More(usize),
    /// A new comparison of this many, because this one has no further look.
    Anew(usize),
}

/// The outlook from a fit; rounding may have moved its mean by `slack`, however many pairs there are. `None` when the
/// pairs do not vary at all.
pub fn outlook(fit: &Fit, question: &Question, slack: f64) -> Option<Outlook> {
    if fit.sd.is_nan() || fit.sd <= 0.0 {
        return None;
    }
    let half = |rule: Rule, pairs: usize, sd: f64| rule.half_width(&expected(fit, pairs, sd), question.alpha);
    let seen = question.rule.half_width(fit, question.alpha) + t(POWER, fit.df) * fit.standard_error() + slack;
    let effect = question.minimum_effect.ln_1p();
    // To be decided, the change must be shown to differ from 0 or to be within the minimum effect, whichever is easier.
    let room = fit.mean.abs().max(effect - fit.mean.abs()) - slack;
    let upper = fit.sd * (fit.df / chi_squared(1.0 - CONFIDENCE, fit.df)).sqrt();
    let is_shown = |rule: Rule, pairs: usize| fit.mean.abs() < effect / 2.0 || pairs >= rule.fewest_pairs();
    let is_decided = |rule: Rule, pairs: usize| half(rule, pairs, fit.sd) <= room && is_shown(rule, pairs);
    let is_sure = |rule: Rule, pairs: usize| {
        half(rule, pairs, upper) + normal(POWER) * upper / (pairs as f64).sqrt() + slack <= effect / 2.0
    };
    Some(Outlook {
        smallest_detectable: (seen.is_finite() && fit.pairs >= question.rule.fewest_pairs()).then(|| seen.exp_m1()),
        needed: needed(fit.pairs, question.rule, is_decided),
        needed_at_most: needed(fit.pairs, question.rule, is_sure),
    })
}

/// What makes `holds` true for a rule and its number of pairs. Beyond the last look that is a new comparison, whose
/// rule is the one for as many pairs.
fn needed(made: usize, rule: Rule, holds: impl Fn(Rule, usize) -> bool) -> Option<Needed> {
    match rule {
        Rule::Looks => {
            let look = LOOKS.into_iter().find(|look| *look > made && holds(rule, *look));
            let anew = || fewest(made.max(PAIRS_OF_LOOKS), |pairs| holds(Rule::Anytime, pairs)).map(Needed::Anew);
            look.map(|look| Needed::More(look - made)).or_else(anew)
        }
        Rule::Anytime => fewest(made, |pairs| holds(rule, pairs)).map(|pairs| Needed::More(pairs - made)),
        Rule::Sessions => fewest(made, |sessions| holds(rule, sessions)).map(Needed::Anew),
    }
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

    /// Compares the closed form with its integral: the likelihood ratio of the t statistic, mixed over delta / sd ~
    /// N(0, 1), by the noncentral density in its integral form over the chi scale.
    #[test]
    fn evidence_is_the_mixture_of_likelihood_ratios() {
        let values = [0.021, 0.008, 0.015, -0.002, 0.019];
        let fit = Fit::without_place(&values).unwrap().unwrap();
        let n = values.len() as f64;
        let (sum, squares) = values.iter().fold((0.0, 0.0), |(s, ss), v| (s + v, ss + v * v));
        // Likelihood of the data given theta = delta / sd, with sd under its Haar measure; sd = exp(u).
        let given = |theta: f64| -> f64 {
            let step = 0.01;
            (-900..0)
                .map(|i| {
                    let sd = (f64::from(i) * step).exp();
                    (-n * sd.ln() - (squares - 2.0 * theta * sd * sum + n * theta * theta * sd * sd) / (2.0 * sd * sd))
                        .exp()
                        * step
                })
                .sum()
        };
        let step = 0.02;
        let mixed: f64 = (-400..=400)
            .map(|i| {
                let theta = f64::from(i) * step;
                given(theta) * (-theta * theta / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * step
            })
            .sum();
        let found = evidence(&fit);
        assert!((found / (mixed / given(0.0)) - 1.0).abs() < 1e-6, "{found} against {}", mixed / given(0.0));
    }

    #[test]
    fn the_interval_ends_where_the_evidence_reaches_its_limit() {
        let values = [0.021, 0.008, 0.015, -0.002, 0.019, 0.011, 0.013];
        let fit = Fit::without_place(&values).unwrap().unwrap();
        let half = Rule::Anytime.half_width(&fit, 0.05);
        let at_end = Fit { mean: half, ..fit };
        assert!((evidence(&at_end) - 20.0).abs() < 1e-9, "{}", evidence(&at_end));
        // Two pairs cannot reach 20, whatever their values.
        assert_eq!(Rule::Anytime.half_width(&Fit { weight: 2.0, df: 1.0, ..fit }, 0.05), f64::INFINITY);
    }

    #[test]
    fn pairs_before_the_first_look_carry_no_interval() {
        let fit = |n: usize| Fit { mean: 0.5, place: None, sd: 0.1, pairs: n, weight: n as f64, df: n as f64 - 2.0 };
        for (rule, first) in [(Rule::Looks, 4), (Rule::Anytime, 6)] {
            assert_eq!(rule.first_look(0.05), first);
            let is_finite = |n: usize| rule.half_width(&fit(n), 0.05).is_finite();
            assert!(!is_finite(first - 1) && is_finite(first));
        }
    }

    #[test]
    fn looks_are_at_their_pairs_and_at_the_end() {
        let taken: Vec<usize> = (1..30).filter(|n| Rule::Looks.looks_at(*n, false)).collect();
        assert_eq!(taken, LOOKS);
        assert!(Rule::Looks.looks_at(7, true) && !Rule::Looks.looks_at(19, true));
        let fit = Fit { mean: 0.0, place: None, sd: 1.0, pairs: 4, weight: 4.0, df: 3.0 };
        // By bisection of the closed form of the distribution with 3 degrees of freedom, at p 0.0136.
        assert!(
            (Rule::Looks.half_width(&fit, 0.05) * 2.0 - 5.2301).abs() < 1e-3,
            "{}",
            Rule::Looks.half_width(&fit, 0.05)
        );
    }

    fn fit(mean: f64, sd: f64, pairs: usize) -> Fit {
        let n = pairs as f64;
        Fit { mean, place: Some(0.0), sd, pairs, weight: n, df: n - 2.0 }
    }

    #[test]
    fn pairs_needed_are_those_after_which_the_interval_of_the_next_look_or_of_a_new_comparison_fits() {
        let found = |rule: Rule, now: &Fit| {
            let found = outlook(now, &Question { minimum_effect: 0.02, alpha: 0.05, rule }, 0.0).unwrap();
            (found.needed.unwrap(), found.needed_at_most.unwrap())
        };
        let half = |rule: Rule, sd: f64, pairs: usize| rule.half_width(&fit(0.001, sd, pairs), 0.05);
        let room = 0.02_f64.ln_1p() - 0.001;
        let Needed::More(more) = found(Rule::Anytime, &fit(0.001, 0.03, 18)).0 else { panic!() };
        assert!(half(Rule::Anytime, 0.03, 18 + more) <= room && half(Rule::Anytime, 0.03, 17 + more) > room);
        // There is no look after the 18th pair: a new comparison of as many pairs as this looks after every pair.
        assert_eq!(found(Rule::Looks, &fit(0.001, 0.03, 18)).0, Needed::Anew(18 + more));
        assert!(matches!(found(Rule::Looks, &fit(0.001, 0.03, 18)).1, Needed::Anew(most) if most > 18 + more));
        // Nor after the 7th: a comparison that is not over is decided at one of its looks.
        assert!(half(Rule::Looks, 0.015, 8) <= room && half(Rule::Looks, 0.015, 7) > room);
        let (about, most) = found(Rule::Looks, &fit(0.001, 0.015, 7));
        assert!(about == Needed::More(2) && matches!(most, Needed::Anew(25..)), "{about:?} {most:?}");
    }

    /// The three examples by hand: what five looks would show beyond the 18th pair would be 20, 43 and 29.
    #[test]
    fn a_comparison_after_the_last_look_needs_as_many_pairs_as_one_that_looks_after_every_pair() {
        for (sd, mean, pairs) in [(0.03, 0.001, 29), (0.03, 0.008, 72), (0.04, 0.0, 46)] {
            let question = Question { minimum_effect: 0.02, alpha: 0.05, rule: Rule::Looks };
            assert_eq!(
                outlook(&fit(mean, sd, 18), &question, 0.0).unwrap().needed,
                Some(Needed::Anew(pairs)),
                "{sd} {mean}"
            );
        }
    }

    /// Five sessions with t = 2.776 have a half-width of 1.24 times the room, six of 1.05, seven with 2.447 of 0.92.
    #[test]
    fn an_undecided_comparison_over_sessions_needs_a_new_one_of_more_sessions() {
        let room = 0.02_f64.ln_1p();
        let of = |sd: f64| Fit { df: 4.0, place: None, ..fit(0.0, sd * room, 5) };
        let question = Question { minimum_effect: 0.02, alpha: 0.05, rule: Rule::Sessions };
        let found = outlook(&of(1.0), &question, 0.0).unwrap();
        assert_eq!(found.needed, Some(Needed::Anew(7)));
        assert!(matches!(found.needed_at_most, Some(Needed::Anew(8..))), "{found:?}");
    }

    #[test]
    fn the_smallest_change_is_seen_at_the_stated_power() {
        let question = Question { minimum_effect: 0.02, alpha: 0.05, rule: Rule::Looks };
        let found = outlook(&fit(0.0, 0.01, 400), &question, 0.0).unwrap().smallest_detectable.unwrap();
        // With many pairs: (2.468 + 0.842) sd / sqrt(n), the normal quantiles at 0.9932 and 0.8.
        assert!((found.ln_1p() - (2.468 + 0.842) * 0.01 / 20.0).abs() < 2e-5, "{found}");
        assert_eq!(outlook(&fit(0.0, 0.0, 9), &question, 0.0), None);
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
