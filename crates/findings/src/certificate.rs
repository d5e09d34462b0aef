//! Certificates of a machine from comparisons of one side with itself: how often comparisons are wrong there, and how
//! small a change they can detect.

use serde::{Deserialize, Serialize};
use tare_results::Results;
use tare_results::pairs::{Measured, Pairs};
use tare_results::schema::{Plan, Settle, TrialRecord};
use tare_stats::counts::Count;
use tare_stats::ratio::Rounding;
use tare_stats::sequential::{Comparison, Fit, Pair, Question, Rule, Verdict, comparisons, fit_rounded, resolution};
use tare_stats::{Estimate, Interval};
use tare_topology::Fingerprint;

/// Confidence level of intervals and of the bound of a rate.
const CONFIDENCE: f64 = 0.95;
/// Of the intervals of the three twins that differ from their original, which hold together at 95%.
const CONFIDENCE_OF_TWINS: f64 = 1.0 - 0.05 / 3.0;
/// Time budgets in minutes for which the smallest detectable change is given.
const BUDGETS_MIN: [u32; 3] = [10, 30, 60];
const ALPHA: f64 = 0.05;

/// How the second of the two equal sides is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Twin {
    Same,
    /// The same bytes at another path of a different length.
    Copy,
    /// The same file with a larger environment, which moves the stack.
    Layout,
    /// The same sources linked again, which moves the code.
    Relinked,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Alarms {
    /// Comparisons that called one of two equal sides faster.
    pub false_alarms: usize,
    /// Comparisons; no two share a pair.
    pub comparisons: usize,
}

impl Alarms {
    /// Upper bound of the false-alarm rate at 95% by Clopper & Pearson: 0 of 59 gives 5%.
    pub fn at_most(self) -> f64 {
        Count { hits: self.false_alarms, of: self.comparisons }.at_most(CONFIDENCE)
    }

    fn of(comparisons: &[Comparison]) -> Self {
        let alarms = comparisons.iter().filter(|comparison| comparison.verdict == Verdict::Changed);
        Self { false_alarms: alarms.count(), comparisons: comparisons.len() }
    }

    /// The sum of two counts that have no comparison in common.
    #[must_use]
    fn and(self, other: Self) -> Self {
        Self { false_alarms: self.false_alarms + other.false_alarms, comparisons: self.comparisons + other.comparisons }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Geometric mean over pairs, without a unit.
    pub ratio: f64,
    /// Lower end; none if there is no interval.
    pub ci_low: Option<f64>,
    /// Upper end; none if there is no interval.
    pub ci_high: Option<f64>,
}

impl Ratio {
    fn excludes_1(&self) -> bool {
        self.ci_low.is_some_and(|low| low > 1.0) || self.ci_high.is_some_and(|high| high < 1.0)
    }

    pub fn of(estimate: Estimate) -> Self {
        let ci = estimate.ci;
        Self { ratio: estimate.value, ci_low: ci.map(|ci| ci.low), ci_high: ci.map(|ci| ci.high) }
    }
}

/// One side compared with its twin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Against {
    pub twin: Twin,
    /// Why it was not measured; none if it was.
    pub reason: Option<String>,
    /// Pairs in which both trials gave an undisturbed result.
    pub pairs: usize,
    pub left_out: usize,
    pub elapsed_s: f64,
    pub looks: Alarms,
    /// False alarms of the rule that looks after every pair.
    pub anytime: Alarms,
    /// Metric of the twin over that of the original, corrected for the place in the pair. The intervals of the twins
    /// other than `Same` hold together at 95%.
    pub ratio: Option<Ratio>,
    /// Ratio of the second trial of a pair to the first.
    pub slot: Option<Ratio>,
    /// Standard deviation of a pair's log ratio.
    pub pair_sd: Option<f64>,
}

impl Against {
    fn left_out(twin: Twin, reason: String) -> Self {
        Self {
            twin,
            reason: Some(reason),
            pairs: 0,
            left_out: 0,
            elapsed_s: 0.0,
            looks: Alarms::default(),
            anytime: Alarms::default(),
            ratio: None,
            slot: None,
            pair_sd: None,
        }
    }

    fn of(twin: Twin, rule: &Settle, found: &Pairs, pairs: &[Pair]) -> Option<Self> {
        let alarms = |by: Rule| -> Option<Alarms> {
            let question = Question { minimum_effect: rule.minimum_effect, alpha: rule.alpha, rule: by };
            Some(Alarms::of(&comparisons(pairs, &question, found.hidden).ok()?))
        };
        let fit = fit_rounded(pairs, found.hidden).ok().flatten();
        let widened = |ratio: Estimate| {
            let slack = found.hidden.slack.exp();
            Estimate { ci: ratio.ci.map(|ci| Interval { low: ci.low / slack, high: ci.high * slack }), ..ratio }
        };
        let confidence = if twin == Twin::Same { CONFIDENCE } else { CONFIDENCE_OF_TWINS };
        Some(Self {
            twin,
            reason: None,
            pairs: pairs.len(),
            left_out: found.lost,
            elapsed_s: found.elapsed_s,
            looks: alarms(Rule::Looks)?,
            anytime: alarms(Rule::Anytime)?,
            ratio: fit.map(|fit| Ratio::of(widened(fit.ratio(confidence)))),
            slot: fit.and_then(|fit| fit.place_ratio(CONFIDENCE)).map(Ratio::of),
            pair_sd: fit.map(|fit| fit.sd),
        })
    }
}

/// Measurements of one twin, the input of a certificate.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub against: Against,
    /// The compared metric; none if nothing was measured.
    pub metric: Option<String>,
    /// Whether the samples of its pairs alternated.
    pub by_turns: bool,
    pairs: Vec<Pair>,
    /// What rounding hides of a pair.
    hidden: Rounding,
}

impl Found {
    /// The result of the records of a plan with two equal sides; none if no pair counts.
    pub fn of(twin: Twin, plan: &Plan, records: &[TrialRecord]) -> Option<Self> {
        let rule = plan.settle.as_ref()?;
        let found = Pairs::of(plan, rule, records);
        let pairs: Vec<Pair> = found.measured.iter().map(Measured::pair).collect();
        let against = Against::of(twin, rule, &found, &pairs).filter(|_| !pairs.is_empty())?;
        Some(Self { against, metric: found.metric, by_turns: plan.turns.is_some(), pairs, hidden: found.hidden })
    }

    pub fn left_out(twin: Twin, reason: String) -> Self {
        let against = Against::left_out(twin, reason);
        Self { against, metric: None, by_turns: false, pairs: Vec::new(), hidden: Rounding::default() }
    }
}

/// The smallest change that a time budget detects on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Decides {
    pub minutes: u32,
    pub pairs: usize,
    /// The change, as a fraction, that is detected with 80% power; none if the budget is too short.
    pub change: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// Time of creation, RFC 3339 in UTC.
    pub made_at: String,
    /// The machine that it was measured on; it is valid for no other.
    pub machine: Fingerprint,
    pub engine: Option<String>,
    /// The name of the load as a study gives it.
    pub load: String,
    /// Whether the samples of its pairs alternated while both servers ran.
    pub by_turns: bool,
    pub metric: String,
    /// The side that was compared with itself, as written by the user; empty if the study was used unchanged.
    pub side: String,
    /// Minimum effect: a comparison of smaller changes ends as equivalent. As a fraction.
    pub minimum_effect: f64,
    pub against: Vec<Against>,
    /// What 10, 30 and 60 minutes can detect, at the pooled spread of all pairs.
    pub decides: Vec<Decides>,
}

impl Certificate {
    /// What each budget can detect, at the spread of these pairs around the mean and place effect of their own twin.
    pub fn decides(found: &[Found]) -> Vec<Decides> {
        let fits = found.iter().filter_map(|found| fit_rounded(&found.pairs, found.hidden).ok().flatten());
        let (df, squares) =
            fits.fold((0.0, 0.0), |(df, squares), fit| (df + fit.df, squares + fit.df * fit.sd.powi(2)));
        let (pairs, elapsed_s) = found.iter().fold((0, 0.0), |(n, s), Found { against, .. }| {
            (n + against.pairs + against.left_out, s + against.elapsed_s)
        });
        if df == 0.0 || pairs == 0 {
            return Vec::new();
        }
        // A comparison estimates two terms: its mean and the place effect.
        let fit = Fit {
            mean: 0.0,
            place: Some(0.0),
            sd: f64::sqrt(squares / df),
            pairs: df as usize + 2,
            weight: df + 2.0,
            df,
        };
        let of = |minutes: u32| {
            let pairs = (f64::from(minutes) * 60.0 / (elapsed_s / pairs as f64)) as usize;
            // More pairs do not show what rounding hides.
            let slack = found.iter().map(|found| found.hidden.slack).fold(0.0, f64::max);
            let change = resolution(&fit, pairs, ALPHA).map(|change| (change.ln_1p() + slack).exp_m1());
            Decides { minutes, pairs, change }
        };
        BUDGETS_MIN.into_iter().map(of).collect()
    }

    /// False alarms of a rule, over all twins.
    pub fn alarms(&self, rule: Rule) -> Alarms {
        let own = |against: &Against| if rule == Rule::Anytime { against.anytime } else { against.looks };
        self.against.iter().map(own).fold(Alarms::default(), Alarms::and)
    }

    /// The largest shown difference of a twin (a copied build or another layout) from its original, as a fraction. A
    /// build may differ by up to this without any change of its code.
    pub fn by_itself(&self) -> Option<f64> {
        let twins = self.against.iter().filter(|own| own.twin != Twin::Same);
        let shown = twins.filter_map(|own| own.ratio.filter(Ratio::excludes_1));
        shown.map(|ratio| ratio.ratio.ln().abs().exp_m1()).max_by(f64::total_cmp)
    }
}

/// What the certificates of a machine state about a comparison made on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Certified {
    /// False alarms of the comparison's rule, in all certificates of its load.
    pub alarms: Alarms,
    /// The newest certificate, with the newest result of each twin that it lacks.
    pub newest: Certificate,
    /// Whether the certificates are for the same as the comparison; else there is none, and `newest` is for another
    /// load, command, metric or minimum effect.
    pub same_load: bool,
}

/// What a comparison is of, as far as a certificate must agree with it.
#[derive(Debug, Clone)]
pub struct Compared<'a> {
    /// None for a command.
    pub engine: Option<&'a str>,
    pub load: &'a str,
    pub by_turns: bool,
    /// None if it is not known yet: then any.
    pub metric: Option<&'a str>,
    pub minimum_effect: f64,
    /// Both commands, as sides; empty for a load with an engine.
    pub commands: Vec<String>,
}

impl Compared<'_> {
    fn is_of(&self, one: &Certificate) -> bool {
        let is_own_side = || self.engine.is_some() || self.commands.contains(&one.side);
        one.engine.as_deref() == self.engine
            && one.load == self.load
            && one.by_turns == self.by_turns
            && self.metric.is_none_or(|metric| metric == one.metric)
            && self.minimum_effect == one.minimum_effect
            && is_own_side()
    }
}

/// The last certificate, with the newest result of each twin that it did not measure.
fn newest(all: &[&Certificate]) -> Option<Certificate> {
    let (last, earlier) = all.split_last()?;
    let mut newest = (*last).clone();
    for against in earlier.iter().rev().flat_map(|one| &one.against).filter(|own| own.ratio.is_some()) {
        let own = newest.against.iter().position(|own| own.twin == against.twin);
        match own {
            Some(own) if newest.against[own].ratio.is_some() => {}
            Some(own) => newest.against[own] = against.clone(),
            None => newest.against.push(against.clone()),
        }
    }
    Some(newest)
}

impl Certified {
    /// As stored with a comparison; none if it has none, or one of another version.
    pub fn stored(results: &Results) -> Option<Self> {
        Self::deserialize(results.certified.as_ref()?).ok()
    }

    /// Selects the certificates that apply to a comparison; none if the machine has none.
    pub fn of(all: &[Certificate], machine: &Fingerprint, compared: &Compared<'_>, rule: Rule) -> Option<Self> {
        let here: Vec<&Certificate> = all.iter().filter(|one| one.machine.changes(machine).is_empty()).collect();
        let own: Vec<&Certificate> = here.iter().copied().filter(|one| compared.is_of(one)).collect();
        let same_load = !own.is_empty();
        let counted = if same_load { own } else { here.last().copied().into_iter().collect() };
        let alarms = counted.iter().map(|one| one.alarms(rule)).fold(Alarms::default(), Alarms::and);
        Some(Self { alarms, newest: newest(&counted)?, same_load })
    }
}

#[cfg(test)]
#[path = "certificate_tests.rs"]
mod tests;
