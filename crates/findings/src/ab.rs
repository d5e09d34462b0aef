//! Whether B differs from A, from pairs that were added until it was settled.

use tare_results::metric::{self, Better};
use tare_results::pairs::{Pairs, Stop};
use tare_results::schema::{Plan, Settle, TrialRecord};
use tare_stats::sequential::{Outlook, Rule, Verdict};
use tare_stats::{Estimate, Interval};

/// One session: pairs of one run share boot, files and copies of data.
pub const FEWEST_SESSIONS: usize = 5;
/// Confidence of the interval of the place's effect.
const CONFIDENCE: f64 = 0.95;

/// What the pairs say of B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AbVerdict {
    /// B is shown to be better.
    Faster,
    /// B is shown to be worse.
    Slower,
    /// The change is shown to be smaller than the one of interest.
    Equivalent,
    /// Neither is shown.
    Undecided,
}

/// A comparison of two sides as far as it has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Ab {
    /// The metric that is compared; none where no trial has one.
    pub metric: Option<String>,
    /// What is said of B.
    pub verdict: AbVerdict,
    /// B / A of the metric.
    pub ratio: Option<f64>,
    /// Its interval, valid over all looks.
    pub ci: Option<Interval>,
    /// B / A turned so that above 1 is slower.
    pub slowdown: Option<Estimate>,
    /// Pairs of which both trials are clean.
    pub pairs: usize,
    /// Pairs that were left out because a trial gave no result.
    pub lost: usize,
    /// Pairs that were left out because a trial was disturbed.
    pub disturbed: usize,
    /// Seconds of all trials.
    pub elapsed_s: f64,
    /// Mean seconds of a pair.
    pub pair_s: f64,
    /// The smallest change that these pairs show with 80% power, as a fraction.
    pub smallest_detectable: Option<f64>,
    /// More pairs that would settle it, if spread and estimate stay as they are; 0 where it is settled.
    pub pairs_to_go: Option<usize>,
    /// As many at most, at 95%.
    pub pairs_to_go_at_most: Option<usize>,
    /// Second place / first place of a pair.
    pub slot: Option<Estimate>,
    /// Why no further pair is made; none where one is.
    pub stop: Option<Stop>,
    /// The rule it went by.
    pub rule: Settle,
}

impl Ab {
    /// What the records of a plan say; none where the plan compares no sides.
    pub fn of(plan: &Plan, records: &[TrialRecord]) -> Option<Self> {
        let rule = plan.settle.clone()?;
        let pairs = Pairs::of(plan, &rule, records);
        let look = pairs.decided(&rule)?;
        let found = look.finding;
        let better = pairs.metric.as_deref().map_or(Better::Higher, |metric| metric::describe(metric).better);
        let turned = |ratio: f64| if better == Better::Higher { 1.0 / ratio } else { ratio };
        let slowdown =
            found.ratio.map(|ratio| Estimate { value: turned(ratio), ci: found.ci.map(|ci| ci.map(turned)) });
        let settled = look.stop == Some(Stop::Settled);
        let outlook = found.outlook;
        let to_go = |of: fn(Outlook) -> Option<usize>| if settled { Some(0) } else { outlook.and_then(of) };
        Some(Self {
            verdict: match (found.verdict, &slowdown) {
                (Verdict::Changed, Some(slowdown)) if slowdown.value > 1.0 => AbVerdict::Slower,
                (Verdict::Changed, _) => AbVerdict::Faster,
                (Verdict::Equivalent, _) => AbVerdict::Equivalent,
                (Verdict::Undecided, _) => AbVerdict::Undecided,
            },
            ratio: found.ratio,
            ci: found.ci,
            slowdown,
            pairs: pairs.measured.len(),
            lost: pairs.lost,
            disturbed: pairs.disturbed,
            elapsed_s: pairs.elapsed_s,
            pair_s: pairs.elapsed_s / pairs.ended().max(1) as f64,
            smallest_detectable: outlook.and_then(|outlook| outlook.smallest_detectable),
            pairs_to_go: to_go(|outlook| outlook.pairs_to_go),
            pairs_to_go_at_most: to_go(|outlook| outlook.pairs_to_go_at_most),
            slot: found.fit.and_then(|fit| fit.place_ratio(CONFIDENCE)),
            stop: look.stop,
            metric: pairs.metric,
            rule,
        })
    }

    /// Runs whose pairs are in it.
    pub fn sessions(&self) -> usize {
        self.rule.sessions
    }

    /// Whether its interval needs no fixed looks.
    pub fn is_anytime(&self) -> bool {
        self.rule.rule == Rule::Anytime
    }
}
