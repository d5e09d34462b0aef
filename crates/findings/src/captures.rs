//! Summaries of captures: the largest symbols and locks of each condition, which of them grow along a ladder, and
//! what capturing cost.

use super::collect::{self, ConditionTrials};
use super::confidence::{CONFIDENCE, FURTHER};
use super::factors::{Ladder, ladders};
use super::lines::LinesSummary;
use super::waits::{self, WaitsSummary, WakesSummary};
use super::{confidence, lines};
use serde::Serialize;
use std::collections::BTreeMap;
use tare_results::Results;
use tare_results::captures::Captures;
use tare_results::schema::{Levels, TrialRecord};
use tare_stats::Interval;
use tare_stats::growth::{self, Profile};

/// The captures of one condition, means over its trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaptureSummary {
    pub condition: String,
    pub trials: usize,
    /// Throughput in the capture samples / throughput in the measured ones: 0.95 is a cost of 5%.
    pub tps_ratio: Option<f64>,
    /// Captures that were requested but not possible: name -> reason.
    pub missing: BTreeMap<String, String>,
    /// The sampling event of the profile: `cycles`, `cpu-clock` ...
    pub event: Option<String>,
    pub samples: u64,
    pub symbols: Vec<SymbolSummary>,
    pub locks: Vec<LockSummary>,
    pub waits: Option<WaitsSummary>,
    /// What kept the connections' threads asleep; none in results of older versions, which did not capture it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wakes: Option<WakesSummary>,
    /// Contended cache lines, if memory accesses were sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<LinesSummary>,
    /// The program or library whose functions have no names in the profile, if their share is large.
    pub unnamed: Option<Unnamed>,
}

impl CaptureSummary {
    /// The callers of the functions that connections slept in, `caller;callee`, with the share of the connections'
    /// time, the largest first.
    pub fn callers(&self) -> &[(String, f64)] {
        let of_wakes = self.wakes.as_ref().map(|wakes| wakes.callers.as_slice()).filter(|callers| !callers.is_empty());
        let stacks = || self.waits.as_ref()?.stacks.as_ref().map(|stacks| stacks.callers.as_slice());
        of_wakes.or_else(stacks).unwrap_or_default()
    }
}

/// Samples of a profile without a function name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unnamed {
    /// The program or library with most of them.
    pub object: String,
    /// Whether it is the kernel, whose names are hidden from ordinary users.
    pub kernel: bool,
    /// Share of the samples without a name, in the kernel, or in all programs and libraries, 0 to 1.
    pub fraction: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SymbolSummary {
    /// Its name; kernel symbols end in `_[k]`.
    pub symbol: String,
    /// Share of the samples inside it, 0 to 1.
    pub self_fraction: f64,
    /// Share of the samples inside it or its callees, 0 to 1.
    pub total_fraction: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LockSummary {
    pub name: String,
    pub count: f64,
    /// Time spent waiting for the lock, over all threads, milliseconds.
    pub wait_ms: f64,
    /// `wait_ms` as a share of the time of all connections' threads.
    pub wait_fraction: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Profiled {
    /// Waits for locks, as shares of the connections' time.
    Locks,
    /// Functions by the samples inside them.
    Symbols,
    /// Functions by the samples inside them or their callees.
    Calls,
}

/// Names by growth along one ladder, the fastest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GrowthRanking {
    pub what: Profiled,
    /// The factor of the ladder: `threads` or `nodes`.
    pub over: String,
    pub levels: Levels,
    pub grown: Vec<Grown>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grown {
    pub name: String,
    /// Share on the first rung, 0 to 1.
    pub first: f64,
    pub last: f64,
    pub per_doubling: f64,
    /// 95% interval of `per_doubling`; null with two profiles.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    /// Whether it is shown to grow, tested together with all other names of the ranking.
    pub shown: bool,
}

/// The end of a kernel symbol's name.
const KERNEL: &str = "_[k]";
/// Share of a profile without names from which a note explains how to get the names.
const UNNAMED: f64 = 0.2;
/// Maximum number of symbols and locks listed per condition and per ranking.
const LISTED: usize = 20;

pub(super) fn of<'r>(condition: &ConditionTrials<'r>, results: &'r Results) -> Vec<&'r Captures> {
    condition.ok.iter().filter_map(|trial| results.captures.get(&(trial.trial, trial.attempt))).collect()
}

/// One entry per condition with captures, or that lacks a requested one.
pub(super) fn summaries<'r>(conditions: &[ConditionTrials<'r>], results: &'r Results) -> Vec<CaptureSummary> {
    conditions.iter().filter_map(|condition| summary(condition, results)).collect()
}

fn summary<'r>(condition: &ConditionTrials<'r>, results: &'r Results) -> Option<CaptureSummary> {
    let captures = of(condition, results);
    let samples: Vec<f64> =
        condition.ok.iter().filter_map(|trial| Some(trial.capture_sample.as_ref()?.tps_ratio)).collect();
    let missing: BTreeMap<String, String> =
        condition.ok.iter().flat_map(|trial| trial.captures_missing.clone()).collect();
    if captures.is_empty() && samples.is_empty() && missing.is_empty() {
        return None;
    }
    let of_trial = |trial: &&'r TrialRecord| results.captures.get(&(trial.trial, trial.attempt))?.waits.as_ref();
    let timed: Vec<_> = condition.ok.iter().filter_map(|trial| Some((*trial, of_trial(trial)?))).collect();
    let profiles = || captures.iter().filter_map(|c| c.profile.as_ref());
    Some(CaptureSummary {
        condition: condition.name.to_owned(),
        trials: samples.len(),
        tps_ratio: collect::mean(&samples),
        missing,
        event: profiles().next().map(|profile| profile.event.clone()),
        samples: profiles().map(|profile| profile.samples).fold(0, u64::saturating_add),
        symbols: symbols(&captures),
        locks: locks(&captures),
        waits: waits::summary(&timed),
        wakes: waits::wakes_summary(&captures),
        lines: lines::summary(condition.ok.iter().copied()),
        unnamed: unnamed(&captures),
    })
}

/// Mean shares over trials; a symbol that a trial lacks has share 0 there.
fn symbols(captures: &[&Captures]) -> Vec<SymbolSummary> {
    let (own, total) = (shares(captures, Profiled::Symbols), shares(captures, Profiled::Calls));
    let mut symbols: Vec<SymbolSummary> = mean_of(&own)
        .into_iter()
        .map(|(symbol, self_fraction)| {
            let total_fraction = mean_of(&total).get(&symbol).copied().unwrap_or(self_fraction);
            SymbolSummary { symbol, self_fraction, total_fraction }
        })
        .collect();
    symbols.sort_by(|a, b| b.self_fraction.total_cmp(&a.self_fraction));
    symbols.truncate(LISTED);
    symbols
}

/// The part of a profile without names, mean over trials; none if it is small.
pub(super) fn unnamed(captures: &[&Captures]) -> Option<Unnamed> {
    let shares = mean_of(&shares(captures, Profiled::Symbols));
    let kernel_name = |name: &str| name.ends_with(KERNEL);
    let of = |kernel: bool| -> Option<Unnamed> {
        let without = |name: &str| name.starts_with('[') && name.trim_end_matches(KERNEL).ends_with(']');
        let unnamed = || shares.iter().filter(|(name, _)| without(name) && kernel_name(name) == kernel);
        let fraction: f64 = unnamed().map(|(_, share)| share).sum();
        let (object, _) = unnamed().max_by(|a, b| a.1.total_cmp(b.1))?;
        let object = if kernel { "kernel" } else { object.trim_matches(['[', ']']) }.to_owned();
        (fraction > UNNAMED).then_some(Unnamed { object, kernel, fraction })
    };
    [of(false), of(true)].into_iter().flatten().max_by(|a, b| a.fraction.total_cmp(&b.fraction))
}

fn locks(captures: &[&Captures]) -> Vec<LockSummary> {
    let files: Vec<_> = captures.iter().filter_map(|c| c.locks.as_ref()).collect();
    let mut locks: BTreeMap<&str, LockSummary> = BTreeMap::new();
    for wait in files.iter().flat_map(|file| &file.waits) {
        let lock = locks.entry(&wait.name).or_insert_with(|| LockSummary {
            name: wait.name.clone(),
            count: 0.0,
            wait_ms: 0.0,
            wait_fraction: 0.0,
        });
        let part = 1.0 / files.len() as f64;
        lock.count += wait.count as f64 * part;
        lock.wait_ms += wait.wait_ms * part;
        lock.wait_fraction += wait.wait_fraction * part;
    }
    let mut locks: Vec<LockSummary> = locks.into_values().collect();
    locks.sort_by(|a, b| b.wait_ms.total_cmp(&a.wait_ms));
    locks.truncate(LISTED);
    locks
}

pub(super) fn shares(captures: &[&Captures], what: Profiled) -> Vec<BTreeMap<String, f64>> {
    captures
        .iter()
        .filter_map(|capture| match what {
            Profiled::Symbols => {
                Some(capture.profile.as_ref()?.symbols.iter().map(|s| (s.symbol.clone(), s.self_fraction)).collect())
            }
            Profiled::Calls => {
                Some(capture.profile.as_ref()?.symbols.iter().map(|s| (s.symbol.clone(), s.total_fraction)).collect())
            }
            Profiled::Locks => {
                Some(capture.locks.as_ref()?.waits.iter().map(|l| (l.name.clone(), l.wait_fraction)).collect())
            }
        })
        .collect()
}

pub(super) fn mean_of(trials: &[BTreeMap<String, f64>]) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for (name, share) in trials.iter().flatten() {
        *sums.entry(name.clone()).or_default() += share / trials.len() as f64;
    }
    sums
}

/// Symbols, callers and locks, ranked by how much their share grows over threads and over nodes.
pub(super) fn growth(conditions: &[ConditionTrials<'_>], results: &Results) -> Vec<GrowthRanking> {
    let mut all = ladders(conditions);
    // On a single rung nothing can grow.
    all.retain(|ladder| ladder.rungs.len() > 1);
    let kinds = [Profiled::Locks, Profiled::Symbols, Profiled::Calls];
    let rate = FURTHER / all.len().max(1) as f64;
    kinds
        .into_iter()
        .flat_map(|what| all.iter().filter_map(move |ladder| ranking(what, ladder, rate, results)))
        .collect()
}

/// `rate` is the probability that any growth is shown although nothing grows.
fn ranking(what: Profiled, ladder: &Ladder<'_, '_>, rate: f64, results: &Results) -> Option<GrowthRanking> {
    let profiles: Vec<Profile> = ladder
        .rungs
        .iter()
        .flat_map(|(n, condition)| {
            shares(&of(condition, results), what).into_iter().map(|shares| Profile { n: *n, shares })
        })
        .collect();
    let ranked = growth::rank(&profiles, CONFIDENCE).ok()?;
    // The largest growth of many may be chance, so each name gets a part of the rate.
    let strict = growth::rank(&profiles, 1.0 - rate / ranked.len().max(1) as f64).ok()?;
    let shown: Vec<bool> = strict.iter().map(|found| found.per_doubling.ci.is_some_and(|ci| ci.low > 0.0)).collect();
    let grown: Vec<Grown> = ranked
        .into_iter()
        .zip(shown)
        .take(LISTED)
        .map(|(found, shown)| Grown {
            name: found.name,
            first: found.first,
            last: found.last,
            per_doubling: found.per_doubling.value,
            ci: found.per_doubling.ci,
            shown,
        })
        .collect();
    (!grown.is_empty()).then(|| GrowthRanking {
        what,
        over: ladder.over.to_owned(),
        levels: ladder.levels.clone(),
        grown,
    })
}
