//! Whether B differs from A, decided from pairs of trials that were added until the question was settled.

use crate::state::{self, Failure, State};
use tare_results::metric::{self, Better};
use tare_results::pairs::{Measured, Pairs, Stop};
use tare_results::schema::{Plan, Settle, TrialRecord};
use tare_stats::sequential::{FEWEST_SESSIONS, Finding, Fit, Outlook, Pair, Question, Verdict, decide_rounded};
use tare_stats::{Estimate, Interval};

pub use tare_stats::sequential::Needed;

/// Confidence level of the interval of the place effect (first or second in a pair).
const CONFIDENCE: f64 = 0.95;

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AbVerdict {
    Faster,
    Slower,
    /// The change is shown to be smaller than the minimum effect.
    Equivalent,
    Undecided,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Control {
    pub name: String,
    /// B / A of the control metric, with its interval over all looks.
    #[serde(flatten, serialize_with = "super::confidence::ratio")]
    pub ratio: Option<Estimate>,
    /// Whether the control is shown to differ, although it should not.
    pub moved: bool,
}

/// Above this many pairs, a comparison is not worth waiting for.
pub const MOST_PAIRS: usize = 1000;
/// One day of machine time; a longer comparison is not worth waiting for either.
const MOST_S: f64 = 24.0 * 3600.0;

/// As many sessions are not worth waiting for either.
pub const MOST_SESSIONS: usize = 100;

/// What would settle the comparison if spread and estimate stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToGo {
    Settled,
    /// The pairs have no interval before the first look.
    TooFew {
        first_look: usize,
    },
    Pairs {
        about: Needed,
        /// Upper bound at 95%; none if it exceeds [`MOST_PAIRS`] or one day.
        at_most: Option<Needed>,
    },
    /// A new comparison over as many sessions; none above [`MOST_SESSIONS`].
    Sessions {
        about: Option<usize>,
        at_most: Option<usize>,
    },
    /// More than [`MOST_PAIRS`] or one day.
    TooMany,
    Unknown,
}

impl ToGo {
    fn of(outlook: Option<Outlook>, pair_s: f64) -> Self {
        let near = |needed: &Needed| {
            let (Needed::More(pairs) | Needed::Anew(pairs)) = *needed;
            pairs <= MOST_PAIRS && pairs as f64 * pair_s <= MOST_S
        };
        match outlook {
            None => Self::Unknown,
            Some(outlook) => match outlook.needed.filter(near) {
                Some(about) => Self::Pairs { about, at_most: outlook.needed_at_most.filter(near) },
                None => Self::TooMany,
            },
        }
    }

    fn over_sessions(outlook: Option<Outlook>) -> Self {
        let near = |needed: Option<Needed>| match needed {
            Some(Needed::More(sessions) | Needed::Anew(sessions)) => Some(sessions).filter(|all| *all <= MOST_SESSIONS),
            None => None,
        };
        outlook.map_or(Self::Unknown, |outlook| Self::Sessions {
            about: near(outlook.needed),
            at_most: near(outlook.needed_at_most),
        })
    }

    /// The expected number of further pairs, 0 if settled.
    pub fn about(self) -> Option<usize> {
        match self {
            Self::Settled => Some(0),
            Self::Pairs { about: Needed::More(pairs), .. } => Some(pairs),
            _ => None,
        }
    }

    /// The upper bound of the number of further pairs, 0 if settled.
    pub fn at_most(self) -> Option<usize> {
        match self {
            Self::Settled => Some(0),
            Self::Pairs { at_most: Some(Needed::More(pairs)), .. } => Some(pairs),
            _ => None,
        }
    }

    /// The size of a new comparison that is expected to settle the question, if this one cannot go on.
    pub fn anew(self) -> Option<Anew> {
        match self {
            Self::Pairs { about: Needed::Anew(pairs), .. } => Some(Anew { pairs: Some(pairs), sessions: None }),
            Self::Sessions { about, .. } => Some(Anew { pairs: None, sessions: Some(about?) }),
            _ => None,
        }
    }
}

/// A new comparison of this many pairs, or over this many sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Anew {
    pub pairs: Option<usize>,
    pub sessions: Option<usize>,
}

/// An attempt without a result.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedAttempt {
    pub trial: usize,
    pub attempt: u32,
    pub reason: Failure,
    /// Its log, as a path in the results directory.
    pub log: String,
}

impl FailedAttempt {
    fn of(record: &TrialRecord) -> Option<Self> {
        let State::Failed(reason) = state::of(record) else { return None };
        Some(Self { trial: record.trial, attempt: record.attempt, reason, log: record.log() })
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Ab {
    /// The compared metric; none if no trial has one.
    pub metric: Option<String>,
    pub verdict: AbVerdict,
    pub ratio: Option<f64>,
    /// Interval of the ratio, valid over all looks.
    pub ci: Option<Interval>,
    /// B / A, inverted where needed so that a value above 1 means slower.
    pub slowdown: Option<Estimate>,
    /// Pairs in which both trials gave a result.
    pub pairs: usize,
    /// How many of these pairs contain a trial that counts although it was disturbed.
    pub disturbed: usize,
    /// How many of these pairs had only A disturbed, and how many had only B disturbed.
    pub disturbed_alone: [usize; 2],
    /// Pairs that were left out because a trial gave no result.
    pub lost: usize,
    /// How many of these lack a result of A alone, and how many of B alone.
    pub lost_alone: [usize; 2],
    /// How many pairs had an attempt without a result of A alone, and of B alone.
    pub failed_alone: [usize; 2],
    /// Whether the program of A, and that of B, was replaced between its trials.
    pub replaced: [bool; 2],
    /// The last attempt that failed.
    pub last_failed: Option<FailedAttempt>,
    pub elapsed_s: f64,
    pub pair_s: f64,
    /// By how much rounding may have moved B / A, as a fraction; 0 if values are not rounded, or spread over several
    /// digits.
    pub hidden: f64,
    /// The smallest change that this number of pairs detects with 80% power, as a fraction.
    pub smallest_detectable: Option<f64>,
    pub to_go: ToGo,
    /// Ratio of the second trial of a pair to the first.
    pub slot: Option<Estimate>,
    /// Sessions that have begun and contain at least one pair.
    pub sessions: usize,
    pub controls: Vec<Control>,
    /// Why no further pair is run; none if one is.
    pub stop: Option<Stop>,
    /// Whether both servers of a pair ran at the same time and their samples alternated.
    pub by_turns: bool,
    pub rule: Settle,
}

impl Ab {
    /// The result of a plan's records; none if the plan compares no sides.
    pub fn of(plan: &Plan, records: &[TrialRecord]) -> Option<Self> {
        let rule = plan.settle.clone()?;
        let pairs = Pairs::of(plan, &rule, records);
        let look = pairs.decided(&rule)?;
        let mut found = look.finding;
        // A t interval over sessions is valid for a single look, the last one.
        let is_last = look.stop.is_some_and(|stop| matches!(stop, Stop::Settled | Stop::LastLook) || stop.withholds());
        if rule.is_over_sessions() && !is_last {
            found.ci = None;
        }
        let all: Vec<Pair> = pairs.measured.iter().map(Measured::pair).collect();
        let slot = Fit::of(&all).ok().flatten().and_then(|fit| fit.place_ratio(CONFIDENCE));
        let better = pairs.metric.as_deref().map_or(Better::Higher, |metric| metric::describe(metric).better);
        let turned = |ratio: f64| if better == Better::Higher { 1.0 / ratio } else { ratio };
        let slowdown =
            found.ratio.map(|ratio| Estimate { value: turned(ratio), ci: found.ci.map(|ci| ci.map(turned)) });
        let outlook = found.outlook;
        let pair_s = pairs.elapsed_s / pairs.ended().max(1) as f64;
        let first_look = rule.rule.first_look(rule.alpha);
        let to_go = match look.stop {
            Some(Stop::Settled) => ToGo::Settled,
            Some(Stop::LastLook) if rule.is_over_sessions() => ToGo::over_sessions(outlook),
            // The number of pairs per session was fixed at the start.
            _ if rule.is_over_sessions() => ToGo::Unknown,
            _ if pairs.measured.len() < first_look => ToGo::TooFew { first_look },
            _ => ToGo::of(outlook, pair_s),
        };
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
            disturbed: pairs.measured.iter().filter(|pair| pair.is_disturbed()).count(),
            disturbed_alone: pairs.disturbed_alone(),
            lost: pairs.lost,
            lost_alone: pairs.lost_alone,
            failed_alone: pairs.failed_alone,
            replaced: pairs.replaced,
            last_failed: records.iter().rev().find_map(FailedAttempt::of),
            elapsed_s: pairs.elapsed_s,
            pair_s,
            hidden: pairs.hidden.slack.exp_m1(),
            smallest_detectable: outlook.and_then(|outlook| outlook.smallest_detectable),
            to_go,
            slot,
            sessions: pairs.sessions(&rule).iter().filter(|session| !session.is_empty()).count(),
            controls: controls(&pairs, &rule),
            stop: look.stop,
            by_turns: plan.turns.is_some(),
            metric: pairs.metric,
            rule,
        })
    }

    /// Whether the verdict counts each session as one observation.
    pub fn is_over_sessions(&self) -> bool {
        self.rule.is_over_sessions() && self.sessions >= FEWEST_SESSIONS
    }

    /// The control that prevented a change from being claimed.
    pub fn moved(&self) -> Option<&Control> {
        self.controls.iter().find(|control| control.moved).filter(|_| self.stop == Some(Stop::Control))
    }
}

fn controls(pairs: &Pairs, rule: &Settle) -> Vec<Control> {
    let control = |(name, found): (&str, Finding)| Control {
        name: name.to_owned(),
        ratio: found.ratio.map(|value| Estimate { value, ci: found.ci }),
        moved: found.verdict == Verdict::Changed,
    };
    pairs.untouched(rule).into_iter().map(control).collect()
}

#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub pair: usize,
    pub own: f64,
    /// Whether one of the pair's trials was disturbed.
    pub disturbed: bool,
    /// B / A of all pairs up to this one; none as long as the sides cannot be separated from their places.
    pub ratio: Option<Estimate>,
}

/// The course of a comparison, pair by pair; empty if the plan compares no sides. An interval over sessions belongs
/// to the last step only.
pub fn course(plan: &Plan, records: &[TrialRecord]) -> Vec<Step> {
    let Some(rule) = &plan.settle else { return Vec::new() };
    let found = Pairs::of(plan, rule, records);
    let pairs: Vec<Pair> = found.measured.iter().map(Measured::pair).collect();
    let question = Question { minimum_effect: rule.minimum_effect, alpha: rule.alpha, rule: rule.rule };
    let last = Ab::of(plan, records).and_then(|ab| Some(Estimate { value: ab.ratio?, ci: ab.ci }));
    let step = |(before, pair): (usize, &Pair)| {
        let made = before + 1;
        let so_far = decide_rounded(&pairs[..made], &question, found.hidden, false).ok();
        let ratio = so_far.and_then(|so_far| {
            let ci = so_far.ci.filter(|_| !rule.is_over_sessions());
            Some(Estimate { value: so_far.ratio?, ci })
        });
        let ratio = if made == pairs.len() { last } else { ratio };
        Step { pair: made, own: pair.log_ratio.exp(), disturbed: found.measured[before].is_disturbed(), ratio }
    };
    pairs.iter().enumerate().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_unreasonable_number_of_remaining_pairs_is_reported() {
        let more = |pairs: Option<usize>| pairs.map(Needed::More);
        let outlook = |about, at_most| {
            Some(Outlook { smallest_detectable: None, needed: more(about), needed_at_most: more(at_most) })
        };
        let pairs = |about, at_most| ToGo::Pairs { about: Needed::More(about), at_most: more(at_most) };
        assert_eq!(ToGo::of(outlook(Some(25), Some(60)), 30.0), pairs(25, Some(60)));
        assert_eq!(ToGo::of(outlook(Some(1000), Some(1001)), 1.0), pairs(1000, None));
        assert_eq!(ToGo::of(outlook(Some(206_407), None), 5.6), ToGo::TooMany);
        assert_eq!(ToGo::of(outlook(Some(30), Some(90)), 3000.0), ToGo::TooMany, "25 hours");
        assert_eq!(ToGo::of(outlook(None, None), 1.0), ToGo::TooMany);
    }
}
