//! The transaction time of a condition: means and intervals over its trials.

use super::events::{self, EventMean};
use super::part::{Missing, Part};
use super::remote;
use super::trial::TrialTime;
use super::waited::PAGE_LOCKS;
use crate::collect::ConditionTrials;
use crate::confidence::CONFIDENCE;
use crate::ends;
use serde::Serialize;
use std::collections::BTreeSet;
use tare_results::Results;
use tare_results::schema::TrialRecord;
use tare_stats::Interval;
use tare_stats::trials::mean_interval;

/// Minimum share of the time, averaged over trials, for which a lock has its own part.
const NAMED: f64 = 0.01;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConditionTime {
    pub name: String,
    pub clients: usize,
    pub trials: usize,
    /// Of these, trials that count although they were disturbed.
    #[serde(skip)]
    pub disturbed: usize,
    /// Wall-clock time of a transaction: clients / throughput, microseconds.
    pub us_per_transaction: f64,
    /// 95% interval over trials.
    #[serde(flatten, serialize_with = "ends::ci")]
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
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartTime {
    #[serde(rename = "name")]
    pub part: Part,
    /// Mean over trials, microseconds per transaction.
    pub us: f64,
    /// 95% interval over trials.
    #[serde(flatten, serialize_with = "ends::ci")]
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
        let away_from_memory = machine.and_then(|machine| remote::share(trial, machine));
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
        true if has_sleeps && (part == Part::RowLock || part.is_lock()) => Part::Asleep,
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
    let of_files = matches!(part, Part::Flush | Part::Io | Part::Pause);
    match lacked {
        Missing::WaitsForCpu => matches!(part, Part::ClientWaited | Part::ServerWaited | Part::OtherPrograms),
        Missing::ServerThreads => matches!(part, Part::ServerUser | Part::ServerSystem | Part::ServerWaited),
        Missing::RowLocks => *part == Part::RowLock,
        // Sleeps that the server names are in no futex.
        Missing::Locks => part.is_lock() || (of_files || *part == Part::Asleep) && !has_sleeps,
        Missing::Sleeps => {
            of_files
                || matches!(part, Part::Asleep | Part::Way | Part::Futex(_))
                || matches!(part, Part::Lock(name) if name == PAGE_LOCKS)
        }
    }
}

/// The time of a condition from its trials; none without a trial.
pub(crate) fn of_condition(name: &str, times: &[TrialTime<'_>]) -> Option<ConditionTime> {
    let clients = times.first()?.clients;
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
        clients,
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
        events: events::of_condition(times),
        missing: missing.into_iter().collect(),
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
