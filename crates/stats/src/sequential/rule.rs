//! When pairs are looked at, and the width of the interval at that look.

use super::fit::Fit;

/// Numbers of pairs after which [`Rule::Looks`] has a look.
pub const LOOKS: [usize; 5] = [4, 6, 9, 13, 18];
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
pub(super) const PAIRS_OF_LOOKS: usize = 24;

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
}
