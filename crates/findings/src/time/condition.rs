//! The transaction time of a condition: means and intervals over its trials, events per transaction, remote work, and
//! the two most different conditions.
//!
//! Events of processors and kernel, per transaction of the capture sample. They are counted for slightly longer than
//! the sample; the throughput of that time is taken to be that of the sample.

use super::part::{Missing, Part};
use super::trial::TrialTime;
use super::waited::is_by_caller;
use crate::collect::ConditionTrials;
use crate::confidence::{self, CONFIDENCE};
use crate::factors::load_of;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use tare_results::Results;
use tare_results::covariate::{SERVER_MEMORY, SERVER_POOL};
use tare_results::events::EventCounts;
use tare_results::schema::{SampleRecord, ThreadClass, ThreadRecord, TrialRecord};
use tare_stats::Interval;
use tare_stats::trials::mean_interval;
use tare_topology::Machine;

/// Minimum share of the time, averaged over trials, for which a lock has its own part.
const NAMED: f64 = 0.01;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConditionTime {
    pub name: String,
    /// The load, if a factor sets it.
    #[serde(skip)]
    pub load: Option<String>,
    pub clients: usize,
    pub trials: usize,
    /// Of these, trials that count although they were disturbed.
    #[serde(skip)]
    pub disturbed: usize,
    /// Wall-clock time of a transaction: clients / throughput, microseconds.
    pub us_per_transaction: f64,
    /// 95% interval over trials.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    /// All parts except the unexplained one; together they add up to the whole.
    pub parts: Vec<PartTime>,
    /// The whole minus the parts; negative if parts overlap by more than the waits for a CPU.
    pub not_explained: PartTime,
    /// Waits for a CPU that are in no part, because they overlap with another part, microseconds per transaction.
    pub overlap_us: f64,
    /// CPU time of lock retries, which is counted only in the parts of these locks, microseconds per transaction.
    pub retries_us: f64,
    /// CPU time of clients that spin while they wait for an answer, which is in no part, microseconds per transaction;
    /// none if clients sleep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spun_us: Option<f64>,
    /// CPU time of the server's threads that serve no connection, which is no part of the whole.
    pub background_us: f64,
    /// Voluntary context switches of both sides, per transaction.
    pub switches: f64,
    /// Share of the connections' CPU time on another node than the server's memory; none if a trial lacks it, and on a
    /// machine with one node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub away_from_memory: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventMean>,
    /// Data that at least one trial did not record.
    pub missing: Vec<Missing>,
    /// Whether the server's parts are those of all its threads together, because a pool serves the connections.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub thread_pool: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartTime {
    #[serde(rename = "name")]
    pub part: Part,
    /// Mean over trials, microseconds per transaction.
    pub us: f64,
    /// 95% interval over trials.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    pub share: f64,
}

/// The times of a condition's analysed trials.
pub(crate) fn of_trials<'r>(condition: &ConditionTrials<'r>, results: &'r Results) -> Vec<TrialTime<'r>> {
    let captures = |trial: usize, attempt: u32| results.captures.get(&(trial, attempt));
    let machine = results.environment.as_ref().map(|environment| &environment.machine);
    let planned = results.plan.iter().flat_map(|plan| &plan.conditions).find(|planned| planned.name == condition.name);
    let of = |trial: &&'r TrialRecord| {
        let time = TrialTime::of_planned(trial, captures(trial.trial, trial.attempt), planned)?;
        let away_from_memory = machine.and_then(|machine| remote_share(trial, machine));
        Some(TrialTime { away_from_memory, ..time })
    };
    condition.ok.iter().filter_map(of).collect()
}

/// Merges locks that are small in all of these trials, so that all trials have the same parts.
pub(crate) fn join_small(sides: &mut [&mut Vec<TrialTime<'_>>]) {
    let mut named: BTreeSet<Part> = BTreeSet::new();
    for trials in sides.iter() {
        let locks: BTreeSet<&Part> =
            trials.iter().flat_map(|time| time.parts.keys()).filter(|part| part.is_lock()).collect();
        let whole: f64 = trials.iter().map(|time| time.us).sum();
        let large = |part: &&&Part| trials.iter().map(|time| time.part(part)).sum::<f64>() >= NAMED * whole;
        named.extend(locks.iter().filter(large).map(|part| (*part).clone()));
    }
    for time in sides.iter_mut().flat_map(|trials| trials.iter_mut()) {
        let small = |part: &Part| part.is_lock() && !named.contains(part);
        let had_locks = time.parts.keys().any(Part::is_lock);
        let other: f64 = time.parts.iter().filter(|(part, _)| small(part)).map(|(_, us)| us).sum();
        time.parts.retain(|part, _| !small(part));
        if had_locks {
            time.parts.insert(Part::OtherLocks, other);
        }
    }
}

/// If some of these trials recorded a kind of data and others did not, its parts count as in the trials without it:
/// otherwise what was recorded would appear as a difference between the trials.
pub(crate) fn leave_out_unrecorded(sides: &mut [&mut Vec<TrialTime<'_>>]) {
    let trials = || sides.iter().flat_map(|trials| trials.iter());
    let lacked: BTreeSet<Missing> = trials().flat_map(|time| time.missing.iter().copied()).collect();
    let by_some = lacked.iter().copied().filter(|kind| trials().any(|time| !time.missing.contains(kind)));
    let by_some: Vec<Missing> = by_some.collect();
    let has_sleeps = !lacked.contains(&Missing::Sleeps);
    let counts_as = |part: Part| match by_some.iter().any(|kind| hides(*kind, &part, has_sleeps)) {
        false => part,
        // Threads sleep during these waits.
        true if has_sleeps && (matches!(part, Part::RowLock | Part::StatementSleep) || part.is_lock()) => Part::Asleep,
        true => Part::NotExplained,
    };
    for time in sides.iter_mut().flat_map(|trials| trials.iter_mut()) {
        for (part, us) in std::mem::take(&mut time.parts) {
            *time.parts.entry(counts_as(part)).or_default() += us;
        }
    }
}

/// Whether a trial that lacks this data lacks the part, or has it from another source than the others. `has_sleeps`:
/// whether all trials recorded the sleeps.
fn hides(lacked: Missing, part: &Part, has_sleeps: bool) -> bool {
    let of_files = matches!(part, Part::Flush | Part::Io | Part::TemporaryFiles | Part::Pause | Part::StatementSleep);
    match lacked {
        Missing::WaitsForCpu => matches!(part, Part::ClientWaited | Part::ServerWaited | Part::OtherPrograms),
        Missing::ServerThreads => matches!(part, Part::ServerUser | Part::ServerSystem | Part::ServerWaited),
        Missing::RowLocks => *part == Part::RowLock,
        // Sleeps that the server names are in no futex.
        Missing::Locks => {
            let by_the_server = part.is_lock() || *part == Part::StatementSleep;
            by_the_server || (of_files || *part == Part::Asleep) && !has_sleeps
        }
        Missing::Sleeps => {
            of_files
                || matches!(part, Part::Asleep | Part::Way | Part::Futex(_))
                || matches!(part, Part::Lock(name) if is_by_caller(name))
        }
    }
}

/// The time of a condition from its trials; none without a trial.
pub(crate) fn of_condition(name: &str, times: &[TrialTime<'_>]) -> Option<ConditionTime> {
    let first = times.first()?;
    let n = times.len() as f64;
    let mean = |value: &dyn Fn(&TrialTime<'_>) -> f64| times.iter().map(value).sum::<f64>() / n;
    let us = mean(&|time| time.us);
    let one = |part: &Part| {
        let values: Vec<f64> = times.iter().map(|time| time.part(part)).collect();
        let value = mean(&|time| time.part(part));
        PartTime { part: part.clone(), us: value, ci: mean_interval(&values, CONFIDENCE), share: value / us }
    };
    let all: BTreeSet<&Part> = times.iter().flat_map(|time| time.parts.keys()).collect();
    let not_explained = one(&Part::NotExplained);
    let whole: Vec<f64> = times.iter().map(|time| time.us).collect();
    let missing: BTreeSet<Missing> = times.iter().flat_map(|time| time.missing.iter().copied()).collect();
    Some(ConditionTime {
        name: name.to_owned(),
        load: load_of(&first.trial.levels).cloned(),
        clients: first.clients,
        trials: times.len(),
        disturbed: times.iter().filter(|time| time.trial.reason.is_some()).count(),
        us_per_transaction: us,
        ci: mean_interval(&whole, CONFIDENCE),
        parts: all.into_iter().filter(|part| **part != Part::NotExplained).map(one).collect(),
        not_explained,
        overlap_us: mean(&|time| time.overlap_us),
        retries_us: mean(&|time| time.retries_us),
        spun_us: times.iter().map(|time| time.spun_us).sum::<Option<f64>>().map(|sum| sum / n),
        background_us: mean(&|time| time.background_us),
        switches: mean(&|time| time.switches),
        away_from_memory: times.iter().map(|time| time.away_from_memory).sum::<Option<f64>>().map(|sum| sum / n),
        events: events_of_condition(times),
        missing: missing.into_iter().collect(),
        thread_pool: times.iter().any(|time| time.has_pool),
    })
}

/// Every condition whose client threads were observed while they ran transactions.
pub(crate) fn of_conditions(conditions: &[ConditionTrials<'_>], results: &Results) -> Vec<ConditionTime> {
    let of = |condition: &ConditionTrials<'_>| {
        let mut times = of_trials(condition, results);
        join_small(&mut [&mut times]);
        of_condition(condition.name, &times)
    };
    conditions.iter().filter_map(of).collect()
}

const CYCLES: &str = "cycles";
const INSTRUCTIONS: &str = "instructions";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventSide {
    Client,
    Server,
}

/// An event of one side: an event by perf's name, or a value derived from two events.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Event {
    pub side: EventSide,
    #[serde(flatten)]
    pub what: Counted,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "event", content = "name", rename_all = "snake_case")]
pub enum Counted {
    InstructionsPerCycle,
    /// Number of events per transaction.
    PerTransaction(String),
}

/// Events that the kernel counts itself, on any machine.
const OF_THE_KERNEL: [&str; 3] = ["context-switches", "cpu-migrations", "page-faults"];

impl Counted {
    pub fn is_of_hardware(&self) -> bool {
        match self {
            Self::InstructionsPerCycle => true,
            Self::PerTransaction(name) => !OF_THE_KERNEL.contains(&name.as_str()),
        }
    }
}

/// An event of one condition, mean over its trials that counted it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventMean {
    #[serde(flatten)]
    pub event: Event,
    pub value: f64,
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
}

/// The events of one trial; empty without the capture `events`.
pub(crate) fn events_of_trial(time: &TrialTime<'_>) -> BTreeMap<Event, f64> {
    let Some(sample) = &time.trial.capture_sample else { return BTreeMap::new() };
    let Some(counted) = &sample.events else { return BTreeMap::new() };
    let mut all = BTreeMap::new();
    for (side, counts) in [(EventSide::Client, &counted.client), (EventSide::Server, &counted.server)] {
        let Some(counts) = counts else { continue };
        let transactions = sample.tps * counts.elapsed_s;
        all.extend(of_side(counts, transactions).into_iter().map(|(what, value)| (Event { side, what }, value)));
    }
    all.retain(|_, value| value.is_finite());
    all
}

fn of_side(counted: &EventCounts, transactions: f64) -> BTreeMap<Counted, f64> {
    let each = counted.counts.iter().map(|(name, n)| (Counted::PerTransaction(name.clone()), n / transactions));
    let rate = counted.counts.get(INSTRUCTIONS).zip(counted.counts.get(CYCLES));
    each.chain(rate.map(|(instructions, cycles)| (Counted::InstructionsPerCycle, instructions / cycles))).collect()
}

/// The events that all trials of a condition have, of those that counted any.
fn events_of_condition(times: &[TrialTime<'_>]) -> Vec<EventMean> {
    let trials: Vec<BTreeMap<Event, f64>> =
        times.iter().map(events_of_trial).filter(|trial| !trial.is_empty()).collect();
    let mean = |event: &Event| {
        let values: Vec<f64> = trials.iter().filter_map(|trial| trial.get(event).copied()).collect();
        let value = values.iter().sum::<f64>() / values.len() as f64;
        EventMean { event: event.clone(), value, ci: mean_interval(&values, CONFIDENCE) }
    };
    events_in_all(trials.iter()).into_iter().map(mean).collect()
}

pub(crate) fn events_in_all<'t>(mut trials: impl Iterator<Item = &'t BTreeMap<Event, f64>>) -> BTreeSet<&'t Event> {
    let first = trials.next().map(|trial| trial.keys().collect::<BTreeSet<_>>()).unwrap_or_default();
    trials.fold(first, |all, trial| all.into_iter().filter(|event| trial.contains_key(*event)).collect())
}

/// The fastest condition and the slowest, by the time of a transaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extremes<'t> {
    pub fastest: &'t ConditionTime,
    pub slowest: &'t ConditionTime,
    /// Number of conditions with their load, and with their number of clients if `alike`.
    pub of: usize,
    /// Whether they have the same number of clients.
    pub alike: bool,
    /// Number of pairs that they were selected from, of all loads and numbers of clients.
    pairs: usize,
}

/// Selects the pair that lies farthest apart among conditions with the same load and number of clients, or with the
/// same load if no two have the same number; none without two conditions of one load.
pub fn extremes(times: &[ConditionTime]) -> Option<Extremes<'_>> {
    let alike = farthest(times, |time| (time.load.as_ref(), time.clients));
    alike.or_else(|| Some(Extremes { alike: false, ..farthest(times, |time| time.load.as_ref())? }))
}

fn farthest<'t, K: Ord>(times: &'t [ConditionTime], group: impl Fn(&'t ConditionTime) -> K) -> Option<Extremes<'t>> {
    let mut groups: BTreeMap<K, Vec<&ConditionTime>> = BTreeMap::new();
    for time in times {
        groups.entry(group(time)).or_default().push(time);
    }
    let pairs = groups.values().map(|group| group.len() * (group.len() - 1) / 2).sum();
    let apart = |one: &Extremes<'_>| one.slowest.us_per_transaction / one.fastest.us_per_transaction;
    let all = groups.values().filter_map(|group| Extremes::of(group, pairs));
    all.max_by(|a, b| apart(a).total_cmp(&apart(b)))
}

impl<'t> Extremes<'t> {
    fn of(times: &[&'t ConditionTime], pairs: usize) -> Option<Self> {
        let by_time = |a: &&ConditionTime, b: &&ConditionTime| a.us_per_transaction.total_cmp(&b.us_per_transaction);
        let all = || times.iter().copied();
        let (fastest, slowest) = all().min_by(by_time).zip(all().max_by(by_time))?;
        let of = times.len();
        (of > 1).then_some(Self { fastest, slowest, of, alike: true, pairs })
    }

    /// Whether a difference with this p-value is shown: it is adjusted for the number of pairs, because the two were
    /// selected as the most different.
    pub fn differ(&self, p_value: f64) -> bool {
        p_value * self.pairs as f64 <= 1.0 - CONFIDENCE
    }
}

/// Share of the CPU time of a trial's connections away from their memory: each thread is weighted by the nodes where it
/// was observed, and each node by the share of the memory on other nodes. None if unknown, and with one node.
fn remote_share(trial: &TrialRecord, machine: &Machine) -> Option<f64> {
    if machine.nodes.iter().filter(|node| !node.cpus.is_empty()).count() < 2 {
        return None;
    }
    let [mut all_s, mut remote_s] = [0.0; 2];
    for sample in &trial.samples {
        let remote = remote_of_nodes(sample, machine)?;
        for thread in sample.threads.iter().filter(|thread| thread.class == ThreadClass::Connection) {
            let Some(share) = remote_of_thread(thread, machine, &remote) else { continue };
            let ran_s = thread.schedule.map_or(thread.user_s + thread.system_s, |spent| spent.ran_s);
            all_s += ran_s;
            remote_s += ran_s * share;
        }
    }
    (all_s > 0.0).then(|| remote_s / all_s)
}

/// For each node of the machine, the share of the server's memory on other nodes.
fn remote_of_nodes(sample: &SampleRecord, machine: &Machine) -> Option<Vec<f64>> {
    let of = |name: String| sample.covariates.get(&name).copied().unwrap_or(0.0).max(0.0);
    let bytes_on = |node: u32| of(SERVER_MEMORY.name_at(node)) + of(SERVER_POOL.name_at(node));
    let bytes: Vec<f64> = machine.nodes.iter().map(|node| bytes_on(node.os_index)).collect();
    let all: f64 = bytes.iter().sum();
    (all > 0.0 && all.is_finite()).then(|| bytes.iter().map(|own| 1.0 - own / all).collect())
}

fn remote_of_thread(thread: &ThreadRecord, machine: &Machine, remote: &[f64]) -> Option<f64> {
    let [mut seen, mut elsewhere] = [0.0; 2];
    for (cpu, times) in &thread.seen_cpus {
        let cpu = u32::try_from(*cpu).ok()?;
        let node = machine.nodes.iter().position(|node| node.cpus.contains(cpu))?;
        seen += *times as f64;
        elsewhere += *times as f64 * remote.get(node)?;
    }
    (seen > 0.0).then(|| elsewhere / seen)
}
