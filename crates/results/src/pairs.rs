//! Trials of two conditions as pairs: consecutive trials of one block, in random order.

use crate::blocks::{
    Failures, INTERLEAVED, alike, began, first_sample, headline, ran_two_programs, representing, same_boot, share,
    spent_s, value, value_of,
};
use crate::looks::is_open;
use crate::metric::{self, Better};
use crate::rounding;
use crate::schema::{Plan, Settle, TrialRecord};
use std::collections::{BTreeMap, BTreeSet};
use tare_stats::ratio::Rounding;
use tare_stats::sequential::{
    Finding, Fit, LOOKS, Pair, Question, Verdict, decide_once, decide_rounded, decide_sessions, is_one_sided,
};

pub use crate::blocks::{clients_differ, took_turns};
pub use tare_stats::sequential::Rule;

/// Maximum number of pairs left out before no more are tried: this many, plus one for each pair that counts.
const MOST_LEFT_OUT: usize = 5;
/// Minimum overlap of the samples of both trials in a duet, as a share of their time.
const DUET: f64 = 0.9;
/// Nominal error of all controls, as a share of the actual one: a t test of few readings that are not normal exceeds
/// its nominal error by up to a third.
const NOMINAL: f64 = 0.8;
/// Number of pairs in a session without a time limit: more add little if sessions differ as much as pairs do.
pub const PAIRS_OF_SESSION: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    pub block: usize,
    /// The value of A, in the metric's unit.
    pub a: f64,
    /// The value of B, in the metric's unit.
    pub b: f64,
    /// Whether B ran first, or, in a duet, on the first half of the machine.
    pub b_first: bool,
    /// Whether the trial of A, and that of B, counts although it was disturbed, by the share of the time that was taken
    /// from it. A disturbance comes from the machine and not from the side, so the pair counts too.
    pub disturbed: [bool; 2],
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pairs {
    /// The compared metric; none as long as no trial has one.
    pub metric: Option<String>,
    /// Pairs that count, in the order of their blocks.
    pub measured: Vec<Measured>,
    /// Pairs in which a trial gave no usable result, or with a reboot of the machine between the two.
    pub lost: usize,
    /// How many of these pairs lack a result of A alone, and how many of B alone.
    pub lost_alone: [usize; 2],
    /// How many pairs, of those that count too, had an attempt without a result of A alone, and of B alone.
    pub failed_alone: [usize; 2],
    pub elapsed_s: f64,
    /// The part of `elapsed_s` in the last session.
    pub session_s: f64,
    pub session_ended: usize,
    /// Whether the trials of A, and those of B, ran more than one program: that of a new build at the same path.
    pub replaced: [bool; 2],
    /// What the rounding of the metric's values hides of the log ratio of a pair.
    pub hidden: Rounding,
    /// Whether planned trials are still to run: a comparison that was interrupted in a pair is not over.
    open: bool,
    /// Of the control metrics, which the change cannot affect, by name.
    controls: BTreeMap<String, Control>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Control {
    /// Pairs with their sessions.
    pairs: Vec<(usize, Pair)>,
    /// By side and pair the values of the trial.
    sides: [Vec<Vec<f64>>; 2],
}

impl Measured {
    pub fn pair(&self) -> Pair {
        Pair { log_ratio: (self.b / self.a).ln(), b_first: self.b_first }
    }

    pub fn is_disturbed(&self) -> bool {
        self.disturbed != [false; 2]
    }
}

/// Without those named twice: probes are controls by themselves.
fn names_of_controls(rule: &Settle) -> BTreeSet<&str> {
    rule.controls.iter().map(String::as_str).collect()
}

fn by_session(rule: &Settle, pairs: impl Iterator<Item = (usize, Pair)>) -> Vec<Vec<Pair>> {
    let mut sessions = vec![Vec::new(); rule.begun.len().max(1)];
    for (session, pair) in pairs {
        sessions[session].push(pair);
    }
    sessions
}

/// What rounding hides of the log ratio of a pair, from the values of both sides' trials.
fn hidden(metric: Option<&str>, sides: &[Vec<Vec<f64>>; 2]) -> Rounding {
    rounding::of_logarithms(metric, sides).into_iter().fold(Rounding::default(), Rounding::plus)
}

/// Whether these pairs separate the effect of the sides from that of their places.
fn estimates(pairs: &[Pair]) -> bool {
    Fit::of(pairs).is_ok_and(|fit| fit.is_some())
}

impl Pairs {
    /// The pairs of a plan's blocks whose trials have all ended.
    pub fn of(plan: &Plan, rule: &Settle, records: &[TrialRecord]) -> Self {
        let metric = rule.metric.clone().or_else(|| headline(records));
        // The last attempt counts.
        let last: BTreeMap<usize, usize> = records.iter().enumerate().map(|(at, record)| (record.trial, at)).collect();
        let mut pairs = Self { elapsed_s: spent_s(records.iter()), open: is_open(plan, records), ..Self::default() };
        let session = rule.begun.last().map_or(0, |session| session.first_block);
        let own = records.iter().filter(|record| record.block >= session);
        pairs.session_s = spent_s(own);
        // Minimum overlap of the two trials if they run at the same time.
        let least_shared = rule.duet.as_ref().map(|_| DUET).or_else(|| plan.turns.map(|_| INTERLEAVED));
        let mut samples = [Vec::new(), Vec::new()];
        let failures = Failures::of(records);
        for (block, planned) in plan.blocks() {
            let record = |is_side: &dyn Fn(&str) -> bool| {
                let planned = planned.iter().find(|trial| is_side(&trial.condition))?;
                last.get(&planned.trial).copied()
            };
            let sides = (record(&|name| rule.is_a(name)), record(&|name| rule.is_b(name)));
            let (Some(a_at), Some(b_at)) = sides else { continue };
            let (a, b) = (&records[a_at], &records[b_at]);
            // In a duet the place is a half of the machine.
            let b_first = match (&rule.duet, plan.turns) {
                (Some(_), _) => b.condition == rule.b,
                // Both were started at the same time.
                (None, Some(_)) => first_sample(b) < first_sample(a),
                (None, None) => (began(&b.started_at), b_at) < (began(&a.started_at), a_at),
            };
            pairs.session_ended += usize::from(block >= session);
            let together = same_boot(a, b) && least_shared.is_none_or(|least| share(a, b, least));
            let values = [a, b].map(|trial| value(trial, metric.as_deref()));
            let fails = [a, b].map(|trial| failures.has(trial, metric.as_deref()));
            pairs.failed_alone[0] += usize::from(fails == [true, false]);
            pairs.failed_alone[1] += usize::from(fails == [false, true]);
            match (values[0], values[1]) {
                (Some(own_a), Some(own_b)) if together => {
                    let marked = alike(&[a, b]);
                    let disturbed = [marked[0], marked[1]];
                    let of = |trial| metric.as_deref().map_or_else(Vec::new, |name| representing(trial, name));
                    samples.iter_mut().zip([a, b]).for_each(|(own, trial)| own.push(of(trial)));
                    pairs.measured.push(Measured { block, a: own_a, b: own_b, b_first, disturbed });
                    pairs.add_controls(rule, [a, b], rule.session_of(block), b_first);
                }
                (own_a, own_b) => {
                    pairs.lost += 1;
                    pairs.lost_alone[0] += usize::from(own_a.is_none() && own_b.is_some());
                    pairs.lost_alone[1] += usize::from(own_a.is_some() && own_b.is_none());
                }
            }
        }
        pairs.hidden = hidden(metric.as_deref(), &samples);
        pairs.replaced =
            [ran_two_programs(records, |name| rule.is_a(name)), ran_two_programs(records, |name| rule.is_b(name))];
        pairs.metric = metric;
        pairs.elapsed_s /= plan.at_once();
        pairs.session_s /= plan.at_once();
        pairs
    }

    /// Number of pairs that have ended, including those left out.
    pub fn ended(&self) -> usize {
        self.measured.len() + self.lost
    }

    fn add_controls(&mut self, rule: &Settle, trials: [&TrialRecord; 2], session: usize, b_first: bool) {
        for name in names_of_controls(rule) {
            if let [Some(a), Some(b)] = trials.map(|trial| value_of(trial, name)) {
                let control = self.controls.entry(name.to_owned()).or_default();
                control.pairs.push((session, Pair { log_ratio: (b / a).ln(), b_first }));
                control.sides.iter_mut().zip(trials).for_each(|(own, trial)| own.push(representing(trial, name)));
            }
        }
    }

    /// The rule that suits the number of pairs for which the budget suffices, estimated from the pairs so far; fixed
    /// from the first look on.
    pub fn rule_in_time(&self, rule: &Settle) -> Rule {
        let open = rule.by_time && (1..LOOKS[0]).contains(&self.measured.len());
        let fits = |budget_s: f64| budget_s * self.measured.len() as f64 / self.elapsed_s;
        rule.budget_s.filter(|_| open).map_or(rule.rule, |budget_s| Rule::within(Some(fits(budget_s))))
    }

    pub fn decided(&self, rule: &Settle) -> Option<Look> {
        if rule.is_over_sessions() {
            return self.over_sessions(rule);
        }
        let pairs: Vec<Pair> = self.measured.iter().map(Measured::pair).collect();
        let question = Question { minimum_effect: rule.minimum_effect, alpha: rule.alpha, rule: rule.rule };
        let look = |last: bool| decide_rounded(&pairs, &question, self.hidden, last).ok();
        let finding = look(false)?;
        let stop = match finding.verdict {
            Verdict::Changed | Verdict::Equivalent if !rule.certify => Some(Stop::Settled),
            _ => self.stop(rule),
        };
        let finding = if stop.is_some_and(|stop| stop != Stop::Settled) { look(true)? } else { finding };
        self.claimed(rule, Look { finding, stop })
    }

    fn over_sessions(&self, rule: &Settle) -> Option<Look> {
        let sessions = self.sessions(rule);
        let over = self.session_is_over(rule);
        let last = over && sessions.iter().filter(|pairs| estimates(pairs)).count() >= rule.sessions;
        let question = Question { minimum_effect: rule.minimum_effect, alpha: rule.alpha, rule: rule.rule };
        let finding = decide_sessions(&sessions, &question, self.hidden, last).ok()?;
        let stop = match (finding.verdict, last, over) {
            (Verdict::Changed | Verdict::Equivalent, ..) => Some(Stop::Settled),
            (Verdict::Undecided, true, _) => Some(Stop::LastLook),
            (Verdict::Undecided, false, true) => Some(Stop::Session),
            (Verdict::Undecided, false, false) => self.too_many_left_out().then_some(Stop::LeftOut),
        };
        self.claimed(rule, Look { finding, stop })
    }

    /// Withdraws a claim if a side ran two programs, a control metric changed, or it may be due to disturbances of one
    /// side only or to missing results of one side.
    fn claimed(&self, rule: &Settle, mut look: Look) -> Option<Look> {
        let moved = || self.untouched(rule).iter().any(|(_, control)| control.verdict == Verdict::Changed);
        let stop = match look.finding.verdict {
            _ if rule.certify => None,
            _ if self.replaced != [false; 2] => Some(Stop::Replaced),
            Verdict::Undecided => None,
            _ if moved() => Some(Stop::Control),
            _ if self.is_one_sided(&look.finding, self.disturbed_alone()) => Some(Stop::OneSided),
            // The other trials of a side that fails more often may be a selection of its fast ones.
            _ => {
                let [a, b] = self.failed_alone;
                self.is_one_sided(&look.finding, [b, a]).then_some(Stop::FailsMore)
            }
        };
        if stop.is_some() {
            look.finding.verdict = Verdict::Undecided;
            look.stop = stop;
        }
        Some(look)
    }

    /// From the pairs in which A alone and B alone had a disadvantage: whether the slower side had it more often (sign
    /// test); if the sides are equal, whether either had.
    fn is_one_sided(&self, found: &Finding, [a, b]: [usize; 2]) -> bool {
        let better = self.metric.as_deref().map_or(Better::Higher, |metric| metric::describe(metric).better);
        let is_b_slower = found.ratio.is_some_and(|ratio| (ratio < 1.0) == (better == Better::Higher));
        match (found.verdict, is_b_slower) {
            (Verdict::Changed, true) => is_one_sided(b, a),
            (Verdict::Changed, false) => is_one_sided(a, b),
            _ => is_one_sided(a, b) || is_one_sided(b, a),
        }
    }

    /// Pairs in which only A was disturbed, and pairs in which only B was.
    pub fn disturbed_alone(&self) -> [usize; 2] {
        [[true, false], [false, true]].map(|sides| self.measured.iter().filter(|pair| pair.disturbed == sides).count())
    }

    /// The result of each control metric, by name. A control that is shown to have changed has moved. It matters only
    /// when the comparison is decided, that is once, so one t interval has the power that a verdict after few pairs
    /// needs; together, those of all controls have the error rate of the comparison (`NOMINAL`).
    pub fn untouched<'r>(&self, rule: &'r Settle) -> Vec<(&'r str, Finding)> {
        let names = names_of_controls(rule);
        let alpha = NOMINAL * rule.alpha / names.len().max(1) as f64;
        let question = Question { minimum_effect: rule.minimum_effect, alpha, rule: Rule::Sessions };
        let decided = |name: &str| {
            let Control { pairs, sides } = self.controls.get(name).cloned().unwrap_or_default();
            let hidden = hidden(Some(name), &sides);
            if rule.is_over_sessions() {
                return decide_sessions(&by_session(rule, pairs.into_iter()), &question, hidden, true).ok();
            }
            let pairs: Vec<Pair> = pairs.into_iter().map(|(_, pair)| pair).collect();
            decide_once(&pairs, rule.minimum_effect, hidden, alpha).ok()
        };
        names.into_iter().filter_map(|name| Some((name, decided(name)?))).collect()
    }

    pub fn sessions(&self, rule: &Settle) -> Vec<Vec<Pair>> {
        by_session(rule, self.measured.iter().map(|pair| (rule.session_of(pair.block), pair.pair())))
    }

    /// Whether the last session is complete: each side was first at least once, and the session's share of the time is
    /// spent or, without a time limit, it has its fixed number of pairs.
    fn session_is_over(&self, rule: &Settle) -> bool {
        let own = self.sessions(rule).pop().unwrap_or_default();
        let share_s = rule.budget_s.map(|budget_s| budget_s / rule.sessions.max(1) as f64);
        let next_s = self.session_s / self.session_ended.max(1) as f64;
        let is_full = share_s.map_or(own.len() >= PAIRS_OF_SESSION, |share_s| self.session_s + next_s > share_s);
        !self.open && estimates(&own) && is_full
    }

    fn too_many_left_out(&self) -> bool {
        self.lost >= MOST_LEFT_OUT + self.measured.len()
    }

    /// Why no further pair is run although nothing is decided.
    fn stop(&self, rule: &Settle) -> Option<Stop> {
        if self.open {
            return None;
        }
        if rule.rule.most_pairs().is_some_and(|most| self.measured.len() >= most) && !rule.certify {
            return Some(Stop::LastLook);
        }
        if self.too_many_left_out() {
            return Some(Stop::LeftOut);
        }
        let next_s = self.elapsed_s / self.ended().max(1) as f64;
        rule.budget_s.filter(|budget_s| self.elapsed_s + next_s > *budget_s).map(|_| Stop::Budget)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    Settled,
    LastLook,
    Budget,
    /// Too many pairs were left out compared with those that count.
    LeftOut,
    /// This session is complete; others are to follow.
    Session,
    Control,
    /// Trials of one side only were disturbed more often than by chance.
    OneSided,
    /// One side alone gave no result more often than by chance.
    FailsMore,
    /// A side ran two programs.
    Replaced,
}

impl Stop {
    /// Whether a verdict was withdrawn: more pairs would not bring it back.
    pub fn withholds(self) -> bool {
        matches!(self, Self::Control | Self::OneSided | Self::FailsMore | Self::Replaced)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Estimate, interval and verdict of the pairs so far.
    pub finding: Finding,
    /// Why no further pair is run; none if one is.
    pub stop: Option<Stop>,
}

#[cfg(test)]
#[path = "pairs_tests.rs"]
mod tests;
